// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import org.apache.iceberg.Schema
import org.apache.iceberg.types.Types
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.value.ZoneValues
import zonemap.core.version.FactRef
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.fact.{FactLimit, FactReader, FactRequest, FactTask, FactTaskRunner}
import zonemap.iceberg.settings.{PlannerSettings, UpkeepSettings}
import zonemap.iceberg.store.IndexStore
import zonemap.iceberg.testing.{OwnProcess, TestFiles, TestTable}

class FactUpkeepTest extends AnyFunSuite with OwnProcess {
  private val settings = PlannerSettings(maintenance = UpkeepSettings(maintainFacts = true))

  private final class Runner(override val evaluator: Option[String]) extends FactTaskRunner {
    private val reader: FactReader = (_, _, builders) => builders.foreach(_.add(ZoneValues.ofString("x")))

    override def build(tasks: Seq[FactTask], store: IndexStore): Seq[FactRef] = tasks.flatMap(_.write(reader, store))
  }

  test("a path in JSON of another Spark is not extended to new files, and other facts are") {
    val table = TestTable.create(new Schema(Types.NestedField.optional(1, "j", Types.StringType.get)))
    table.append(TestFiles.data(table)): Unit
    process.admin.build(table.load(), table.current, settings, new LocalRunner(_)): Unit
    val text = "values(j), values(get_json_object(j, '$.a'))"
    val requests = FactRequest.parse(text, table.load(), Some("4.1.3"))
    process.factBuild
      .build(table.load(), table.current, settings, requests, new Runner(Some("4.1.3")), FactLimit.Unlimited): Unit
    table.append(TestFiles.data(table)): Unit
    process.admin.refresh(table.load(), table.current, settings, new LocalRunner(_)): Unit

    def filesAfter(evaluator: Option[String]): Map[Boolean, Int] = {
      val upkeep = new FactUpkeep(process.index)
      try upkeep.run(table.load(), table.current, settings, new Runner(evaluator))
      finally upkeep.close()
      process.index.tables.of(table.load()).factsBuiltFor = None
      process.index.factsOf(table.load()).refs.groupBy(_.column.mapKey.isDefined).map { case (isOfPath, refs) =>
        isOfPath -> refs.map(_.files).sum
      }
    }
    assert(filesAfter(None) == Map(false -> 2, true -> 1))
    assert(filesAfter(Some("4.2.0")) == Map(false -> 2, true -> 1))
    assert(filesAfter(Some("4.1.3")) == Map(false -> 2, true -> 2))
  }
}
