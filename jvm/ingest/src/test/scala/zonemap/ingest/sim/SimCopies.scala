// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.sim

import zonemap.ingest.table.{CatalogEntry, StopCode}

/** One seed with a copy of the table, which `register_table` makes at some moment, and which has committers too. */
object SimCopies {
  private val Turns = 400

  /** Whether a stop is that of a table whose copy has the queue; one without a pointer seems to have lost it. */
  def isStop(code: String): Boolean = code == StopCode.OtherEntry || code == StopCode.PointerLost

  /**
   * Runs a seed to its end. The table that the queue belongs to then must have every accepted record, once.
   *
   * @param isKnown whether clients see that the copy is another entry: the queue then stays with the original
   */
  def run(seed: Long, isKnown: Boolean): Option[String] = {
    val world = new SimWorld(seed, None)
    val table = new SimTable(world)
    val entry = CatalogEntry(if (isKnown) "db.copied" else "db.events", None)
    val copy = new SimCatalog(world, table.data, table.uuid, entry)
    val writers = (0 until 1 + world.rng.int(3)).map(i => new SimWriter(table, s"lane-$i", 2 + world.rng.int(5)))
    val committers = Seq.fill(1 + world.rng.int(2))(new SimCommitter(table, catalog = Some(table.catalog)))
    val others = Seq.fill(1 + world.rng.int(2))(new SimCommitter(table, catalog = Some(copy)))
    world.actors ++= writers ++ committers :+ new SimSurroundings(table)
    val before = world.rng.int(Turns / 2)
    try {
      (0 until before).foreach(_ => world.turn())
      copy.restore(table.catalog.metadata, Vector.empty)
      table.copy = Some(copy)
      // In a root that nobody has marked, a copy that is first is the owner.
      if (isKnown) world.quietly(committers.head.drain())
      val forked = copy.metadata
      world.actors ++= others
      (0 until Turns).foreach(_ => world.turn())
      val problem = end(world, table, copy, committers ++ others)
      problem.orElse(Option.when(isKnown && copy.metadata != forked)("the copy has committed"))
    } catch {
      case e: AssertionError   => Some(e.getMessage)
      case e: RuntimeException => Some(s"${e.getClass.getSimpleName}: ${e.getMessage}")
    }
  }

  private def end(world: SimWorld, table: SimTable, copy: SimCatalog, committers: Seq[SimCommitter]): Option[String] = {
    world.faults = false
    committers.foreach(_.crash())
    Seq(table.catalog, copy).foreach(catalog => while (catalog.hasLate) catalog.landLate())
    val ends = Seq(table.catalog, copy).map(catalog => catalog -> new SimCommitter(table, catalog = Some(catalog)))
    ends.find { case (_, committer) => goesOn(committer) } match {
      case None => Some("both tables have stopped")
      case Some((catalog, committer)) =>
        committer.drain()
        new SimOracle(table, Some(catalog)).problem
    }
  }

  /** Whether a pass does not stop. */
  private def goesOn(committer: SimCommitter): Boolean = {
    committer.step()
    while (!committer.isIdle) committer.step()
    !committer.isStopped
  }
}
