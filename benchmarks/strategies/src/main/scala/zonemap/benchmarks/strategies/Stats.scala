package zonemap.benchmarks.strategies

import java.util.SplittableRandom

object Stats {

  def median(values: Seq[Double]): Double = quantile(values, 0.5)

  def quantile(values: Seq[Double], q: Double): Double = {
    val sorted = values.sorted
    val at = q * (sorted.size - 1)
    val low = at.toInt
    sorted(low) + (at - low) * (sorted(math.min(low + 1, sorted.size - 1)) - sorted(low))
  }

  /** The median and its 95 % interval, by 2,000 resamples. */
  def interval(values: Seq[Double]): (Double, Double, Double) = {
    val random = new SplittableRandom(7)
    val medians = Seq.fill(2000)(median(Seq.fill(values.size)(values(random.nextInt(values.size)))))
    (median(values), quantile(medians, 0.025), quantile(medians, 0.975))
  }
}
