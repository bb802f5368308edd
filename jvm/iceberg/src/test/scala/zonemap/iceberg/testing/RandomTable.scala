// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Try}

import org.apache.iceberg._
import org.apache.iceberg.exceptions.ValidationException
import org.apache.iceberg.expressions.{Expression, Expressions, Literal}
import org.apache.iceberg.types.{Type, Types, TypeUtil}
import org.apache.iceberg.types.Types.NestedField.{optional, required}

/**
 * A table of random columns, partitions and commits with known rows: each data file's bounds come from rows that this
 * class retains. The generator makes all choices, so a seed replays a table.
 */
final class RandomTable(rng: Rng) {
  val formatVersion: Int = rng.pick(Seq(1, 2, 2, 3, 3))

  val table: TestTable = TestTable.create(
    RandomTable.schema(rng, formatVersion),
    RandomTable.spec(rng, _),
    formatVersion,
    if (rng.chance(30)) Map("commit.manifest.min-count-to-merge" -> "2") else Map.empty
  )

  private val rows = mutable.HashMap.empty[String, Seq[Map[Int, Any]]]
  private val pools = mutable.HashMap.empty[Int, IndexedSeq[Any]]
  private val vectors = mutable.HashSet.empty[String]
  private var columns = 0

  /** The operations so far, for messages. */
  val history = mutable.ArrayBuffer.empty[String]

  def rowsOf(path: String): Seq[Map[Int, Any]] = rows(path)

  /** One random commit. */
  def commit(): Unit = {
    val files = liveFiles
    val (name, action) = rng.int(100) match {
      case n if n < 40 || files.size < 3 => "append" -> (() => append())
      case n if n < 50                   => "delete files" -> (() => deleteFiles(files))
      case n if n < 60                   => "rewrite files" -> (() => rewriteFiles(files))
      case n if n < 67 =>
        "rewrite manifests" -> (() =>
          table.load().rewriteManifests().clusterBy(f => f.location().hashCode % 2).commit())
      case n if n < 82 && formatVersion > 1 => "row deletes" -> (() => rowDeletes(files))
      case n if n < 92                      => "evolve schema" -> (() => evolveSchema())
      case _                                => "evolve spec" -> (() => evolveSpec())
    }
    val done = Try(action()) match {
      case Failure(_: IllegalArgumentException | _: ValidationException) if name.startsWith("evolve") =>
        s"$name (refused)"
      case result => result.get; name
    }
    history += done: Unit
  }

  /** The live data files of the current snapshot, from Iceberg. */
  def liveFiles: IndexedSeq[DataFile] =
    if (table.current == null) IndexedSeq.empty
    else scala.util.Using.resource(table.load().newScan().planFiles())(_.asScala.map(_.file()).toIndexedSeq)

  def append(): Unit = {
    val files = newFiles(table.load().spec(), 3 + rng.int(8))
    if (rng.chance(50)) table.append(files: _*): Unit
    else {
      val append = table.load().newAppend().set("spark.app.id", "tests")
      files.foreach(append.appendFile)
      append.commit()
    }
  }

  /** A random filter over the columns of a schema; literals are mostly values that rows have. */
  def filter(schema: Schema): Expression = {
    val leaves = RandomTable.leaves(schema)
    RandomValues.filter(rng, 3) { () =>
      val field = rng.pick(leaves)
      RandomValues.leaf(rng, schema.findColumnName(field.fieldId()), field.`type`(), pool(field))
    }
  }

  private def deleteFiles(files: IndexedSeq[DataFile]): Unit = {
    val delete = table.load().newDelete()
    rng.some(files, 2).distinctBy(_.location()).foreach(f => delete.deleteFile(f.location()))
    delete.commit()
  }

  private def rewriteFiles(files: IndexedSeq[DataFile]): Unit = {
    val old = rng.pick(files)
    val loaded = table.load()
    val rewrite = loaded.newRewrite().validateFromSnapshot(loaded.currentSnapshot().snapshotId())
    rewrite.set("engine-name", "spark")
    rewrite.deleteFile(old).addFile(file(loaded.specs().get(old.specId()), old.partition(), rowsOf(old.location())))
    rewrite.commit()
  }

  private def rowDeletes(files: IndexedSeq[DataFile]): Unit = {
    val file = rng.pick(files)
    val loaded = table.load()
    val spec = loaded.specs().get(file.specId())
    val fresh = files.filterNot(f => vectors(f.location()))
    val deletes: Seq[DeleteFile] = rng.int(3) match {
      case 0 => Seq(equalityDeletes(spec, file.partition()))
      case _ if formatVersion >= 3 =>
        val puffin = TestFiles.freshPath("dv").replace(".parquet", ".puffin")
        val covered = if (fresh.isEmpty) Nil else rng.some(fresh, 3).distinctBy(_.location())
        vectors ++= covered.map(_.location())
        covered.zipWithIndex.map { case (f, i) => TestFiles.vector(table, f, puffin, 4L + 50 * i) }
      case 1 => Seq(TestFiles.positionDeletes(table, spec, file.partition()))
      case _ => Seq(TestFiles.positionDeletesOf(table, file, byBounds = rng.chance(50)))
    }
    if (deletes.nonEmpty) table.delete(deletes: _*): Unit
  }

  /**
   * Equality deletes of the table's unpartitioned spec, chosen at random if the table has one, else of the given
   * partition.
   */
  private def equalityDeletes(spec: PartitionSpec, partition: StructLike): DeleteFile = {
    val usable = table.load().specs().values().asScala.find(s => s.isUnpartitioned && rng.chance(50)).getOrElse(spec)
    val field = rng.pick(table.schema.columns().asScala.toSeq.filter(_.`type`().isPrimitiveType))
    val values = rng.some(pool(field) :+ null, 3).map(promoted(_, field))
    val stats =
      if (rng.chance(70)) Map(field.name() -> RandomValues.stats(rng, values, field.`type`()))
      else Map.empty[String, Stats]
    TestFiles.equalityDeletes(table, Seq(field.name()), usable, partition, stats)
  }

  private def promoted(value: Any, field: Types.NestedField): Any =
    if (value == null) null else TestRow.promoted(value, field.`type`())

  private def evolveSchema(): Unit = {
    val loaded = table.load()
    val schema = loaded.schema()
    val update = loaded.updateSchema()
    val sources = loaded.specs().values().asScala.flatMap(_.fields().asScala.map(_.sourceId())).toSet
    val columns = schema.columns().asScala.toSeq.filter(f => f.isOptional)
    val free = columns.filterNot(f => sources(f.fieldId()))
    rng.int(5) match {
      case 0 => addColumn(update)
      case 1 if free.size > 2 =>
        val dropped = rng.pick(free)
        update.deleteColumn(dropped.name())
        update.commit()
        if (rng.chance(50)) loaded.updateSchema().addColumn(dropped.name(), dropped.`type`()).commit()
      case 2 => update.renameColumn(rng.pick(columns).name(), freshName()).commit()
      case 3 if columns.size > 1 =>
        val (a, b) = (columns.head, columns(1))
        update.renameColumn(a.name(), b.name()).renameColumn(b.name(), a.name()).commit()
      case _ =>
        columns.find(f => RandomTable.promotions.contains(f.`type`())).foreach { f =>
          update.updateColumn(f.name(), RandomTable.promotions(f.`type`())).commit()
        }
    }
  }

  private def addColumn(update: UpdateSchema): Unit =
    if (formatVersion >= 3 && rng.chance(50))
      update.addColumn(freshName(), Types.IntegerType.get(), Literal.of(rng.int(40))).commit()
    else update.addColumn(freshName(), rng.pick(RandomTable.types(formatVersion))).commit()

  private def freshName(): String = { columns += 1; s"new$columns" }

  private def evolveSpec(): Unit = {
    val loaded = table.load()
    val update = loaded.updateSpec()
    val fields = loaded.spec().fields().asScala.filterNot(_.transform().isVoid)
    if (fields.nonEmpty && rng.chance(50)) update.removeField(fields.head.name()).commit()
    else if (!loaded.specs().values().asScala.exists(_.fields().asScala.exists(_.name() == "id_late")))
      update.addField("id_late", Expressions.bucket[AnyRef]("id", 3)).commit()
  }

  /** Files with rows of few neighbouring values, one file for every partition of the rows. */
  private def newFiles(spec: PartitionSpec, count: Int): Seq[DataFile] = {
    val schema = table.schema
    val cluster = RandomTable.leaves(schema).map(f => f.fieldId() -> rng.int(1000)).toMap
    val key = new PartitionKey(spec, schema)
    val made = Seq.fill(count)(newRow(schema, cluster))
    made
      .groupBy { row => key.partition(new TestRow(row, schema.asStruct())); key.copy() }
      .toSeq
      .sortBy(_._1.toString)
      .map { case (tuple, group) => file(spec, tuple, group) }
  }

  private def newRow(schema: Schema, cluster: Map[Int, Int]): Map[Int, Any] = {
    def fields(struct: Types.StructType): Map[Int, Any] = struct
      .fields()
      .asScala
      .iterator
      .flatMap { f =>
        if (f.`type`().isStructType)
          if (rng.chance(20))
            Map(f.fieldId() -> null) ++ TypeUtil
              .indexById(f.`type`().asStructType())
              .asScala
              .keys
              .map(_.intValue -> null)
          else fields(f.`type`().asStructType()) + (f.fieldId() -> true)
        else if (f.isOptional && rng.chance(12)) Map(f.fieldId() -> null)
        else {
          val values = pool(f)
          val at = cluster.getOrElse(f.fieldId(), rng.int(1000)) + rng.int(3)
          Map(f.fieldId() -> values(at % values.size))
        }
      }
      .toMap
    fields(schema.asStruct())
  }

  private def pool(field: Types.NestedField): IndexedSeq[Any] =
    pools.getOrElseUpdate(
      field.fieldId(), {
        val values = IndexedSeq.fill(12)(RandomValues.value(rng, field.`type`()))
        values.sortBy(_.toString)
      })

  private def file(spec: PartitionSpec, tuple: StructLike, contents: Seq[Map[Int, Any]]): DataFile = {
    val schema = table.schema
    val format = if (rng.chance(85)) FileFormat.PARQUET else FileFormat.ORC
    val stats = RandomTable
      .leaves(schema)
      .iterator
      .flatMap { f =>
        val parent = RandomTable.parentOf(schema, f)
        // ORC counts a struct's field only where the struct is not null
        val counted =
          if (format == FileFormat.ORC) parent.fold(contents)(p => contents.filter(_.getOrElse(p, null) != null))
          else contents
        if (contents.exists(_.contains(f.fieldId())))
          Some(
            f.fieldId() -> RandomValues
              .stats(rng, counted.map(r => promoted(r.getOrElse(f.fieldId(), null), f)), f.`type`()))
        else None
      }
      .toMap
    val path = TestFiles.freshPath()
    val builder = DataFiles
      .builder(spec)
      .withPath(path)
      .withFormat(format)
      .withFileSizeInBytes(100L + rng.int(1000))
      .withMetrics(TestFiles.metricsById(schema, contents.size.toLong, stats))
    if (!spec.isUnpartitioned) builder.withPartition(tuple)
    if (rng.chance(50)) builder.withSplitOffsets(java.util.List.of(4L, 40L + rng.int(50)))
    if (rng.chance(20)) builder.withSortOrderId(0)
    rows(path) = contents
    builder.build()
  }
}

object RandomTable {

  def types(formatVersion: Int): Seq[Type.PrimitiveType] = Seq(
    Types.BooleanType.get(),
    Types.IntegerType.get(),
    Types.LongType.get(),
    Types.FloatType.get(),
    Types.DoubleType.get(),
    Types.DecimalType.of(9, 2),
    Types.DecimalType.of(30, 3),
    Types.StringType.get(),
    Types.BinaryType.get(),
    Types.FixedType.ofLength(4),
    Types.UUIDType.get(),
    Types.DateType.get(),
    Types.TimeType.get(),
    Types.TimestampType.withoutZone(),
    Types.TimestampType.withZone()
  ) ++
    (if (formatVersion >= 3) Seq(Types.TimestampNanoType.withoutZone()) else Nil)

  val promotions: Map[Type, Type.PrimitiveType] = Map(
    Types.IntegerType.get() -> Types.LongType.get(),
    Types.FloatType.get() -> Types.DoubleType.get(),
    Types.DecimalType.of(9, 2) -> Types.DecimalType.of(20, 2))

  private def schema(rng: Rng, formatVersion: Int): Schema = {
    val all = types(formatVersion)
    val columns = (0 until 6 + rng.int(5)).map(i => optional(2 + i, s"c$i", rng.pick(all)))
    val nested = optional(
      50,
      "st",
      Types.StructType.of(
        optional(51, "a", Types.IntegerType.get()),
        optional(52, "b", Types.StringType.get()),
        optional(53, "d", Types.DoubleType.get()))
    )
    val fields = required(1, "id", Types.LongType.get()) +: columns :+ nested
    TypeUtil.assignIncreasingFreshIds(new Schema(fields.asJava))
  }

  private def spec(rng: Rng, schema: Schema): PartitionSpec = {
    val builder = PartitionSpec.builderFor(schema)
    rng.some(schema.columns().asScala.toSeq.filter(_.`type`().isPrimitiveType), 2).distinctBy(_.fieldId()).foreach {
      f =>
        if (rng.chance(70)) f.`type`().typeId() match {
          case Type.TypeID.INTEGER => if (rng.chance(50)) builder.identity(f.name()) else builder.truncate(f.name(), 10)
          case Type.TypeID.LONG    => builder.bucket(f.name(), 3)
          case Type.TypeID.STRING  => if (rng.chance(50)) builder.truncate(f.name(), 2) else builder.identity(f.name())
          case Type.TypeID.DATE    => if (rng.chance(50)) builder.month(f.name()) else builder.identity(f.name())
          case Type.TypeID.TIMESTAMP => if (rng.chance(50)) builder.day(f.name()) else builder.hour(f.name())
          case Type.TypeID.BOOLEAN | Type.TypeID.DECIMAL | Type.TypeID.BINARY => builder.identity(f.name())
          case _                                                              => builder
        }
    }
    builder.build()
  }

  /** Every primitive column whose parents are structs only. */
  def leaves(schema: Schema): Seq[Types.NestedField] =
    TypeUtil.indexById(schema.asStruct()).values().asScala.filter(_.`type`().isPrimitiveType).toSeq.sortBy(_.fieldId())

  def parentOf(schema: Schema, field: Types.NestedField): Option[Int] =
    Option(TypeUtil.indexParents(schema.asStruct()).get(Integer.valueOf(field.fieldId()))).map(_.intValue)
}
