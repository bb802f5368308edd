// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.strategies

import java.util.SplittableRandom

import zonemap.benchmarks.planning.Measure

object Stats {

  def quantile(values: Seq[Double], q: Double): Double = {
    val sorted = values.sorted
    val at = q * (sorted.size - 1)
    val low = at.toInt
    sorted(low) + (at - low) * (sorted(math.min(low + 1, sorted.size - 1)) - sorted(low))
  }

  /** The median and its 95 % confidence interval, from 2,000 bootstrap resamples. */
  def interval(values: Seq[Double]): (Double, Double, Double) = {
    val random = new SplittableRandom(7)
    val medians = Seq.fill(2000)(Measure.median(Seq.fill(values.size)(values(random.nextInt(values.size)))))
    (Measure.median(values), quantile(medians, 0.025), quantile(medians, 0.975))
  }
}
