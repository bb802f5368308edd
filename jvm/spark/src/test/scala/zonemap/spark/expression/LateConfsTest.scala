// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.io.File
import java.time.{LocalDate, ZoneId}
import java.util.jar.JarFile

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.apache.xbean.asm9.{ClassReader, ClassVisitor, MethodVisitor, Opcodes}
import org.scalatest.funsuite.AnyFunSuite

/** The confs that functions read when they evaluate rows, which a session may change after it has planned a query. */
class LateConfsTest extends AnyFunSuite {
  import LateConfsTest._

  test("the functions of Spark that read confs after their construction are known") {
    assert(
      found == Harmless ++ Known ++ NotEvaluated,
      "a new function belongs to LateConfs, or to a list here if it is not evaluated or does not depend on confs")
  }

  test("arithmetic of decimals is evaluated under each rounding that rows can meet") {
    def combinations(digits: Int) = {
      val factor = Literal(Decimal(BigDecimal(3), digits, 10), DecimalType(digits, 10))
      LateConfs.combinations(GreaterThan(Multiply(factor, factor), factor)).size
    }
    assert(combinations(12) == 1 && combinations(30) == (if (MinorExpressions.decimalConf.isEmpty) 1 else 2))
  }

  test("what has ranges is written alike by the formatters of all policies") {
    val rng = new Random(7)
    val zones =
      Seq("UTC", "America/New_York", "America/Havana", "Asia/Kathmandu", "Africa/Monrovia", "Europe/Dublin", "+05:30")
    for (zone <- zones) {
      val texts = Seq("yyyy-MM-dd HH:mm:ss", "yyyy/MM", "yyyy").flatMap { format =>
        Seq[Long => Expression](
          at => DateFormatClass(Literal(at, TimestampType), Literal(format), Some(zone)),
          at => FromUnixTime(Literal(at / 1000000), Literal(format), Some(zone)))
      } :+ ((at: Long) => Cast(Literal((at / 86400000000L).toInt, DateType), StringType, Some(zone)))
      for (text <- texts; _ <- 1 to 300) {
        val at = First + Math.floorMod(rng.nextLong(), Last - First)
        assert(under("LEGACY")(text(at)) == under("CORRECTED")(text(at)), s"$at in $zone: ${text(at)}")
      }
    }
  }

  test("zones that legacy formatters do not know have no ranges, nor do older times") {
    val zoned = Literal(0L, TimestampType)
    def isUsed(zone: String) =
      MonotoneFunctions.of(DateFormatClass(zoned, Literal("yyyy-MM"), Some(zone))).isDefined
    assert(isUsed("UTC") && isUsed("Europe/Berlin") && isUsed("-08:00"))
    assert(!isUsed("+05:30:15"), "java.util.TimeZone takes it for GMT")
    assert(!LocalTime.isOfLegacyFormats(ZoneId.of("+05:30:15")))
    Seq[Expression](
      DateFormatClass(zoned, Literal("yyyy"), Some("UTC")),
      FromUnixTime(Literal(0L), Literal("yyyy"), Some("UTC")),
      Cast(Literal(0, DateType), StringType, Some("UTC"))
    ).foreach { text =>
      val pieces = MonotoneFunctions.of(text).get.asInstanceOf[MonotoneStep].pieces
      val unit = text match {
        case _: DateFormatClass => 86400000000L
        case _: FromUnixTime    => 86400L
        case _                  => 1L
      }
      assert(pieces.forall(_.domain.first / unit >= LocalDate.of(1901, 1, 1).toEpochDay), s"$text")
    }
  }

  private def under(policy: String)(text: Expression): String = {
    val confs = new SQLConf
    confs.setConfString("spark.sql.legacy.timeParserPolicy", policy)
    SQLConf.withExistingConf(confs)(text.eval().asInstanceOf[UTF8String].toString)
  }
}

private object LateConfsTest {
  private val First = LocalDate.of(1901, 1, 3).toEpochDay * 86400000000L
  private val Last = LocalDate.of(9999, 12, 28).toEpochDay * 86400000000L

  /** Methods of functions that are called before rows are read, or that do not change a result. */
  private val Early =
    Set(
      "<init>",
      "checkInputDataTypes",
      "typeCheckFailureInCast",
      "toString",
      "doGenCode",
      "reduceCodeSize",
      "fromSQLConf")

  private val minor = org.apache.spark.SPARK_VERSION.split('.').take(2).mkString(".")

  /** These names, unless this Spark is of one of the minor versions. */
  private def unlessIn(minors: String*)(names: String*): Seq[String] = names.filterNot(_ => minors.contains(minor))

  /** Functions of [[LateConfs]]; a hash reads confs for maps and collations only, which are not evaluated. */
  private val Known = unlessIn("3.5")("HashExpression", "Lower", "Upper") ++
    MinorExpressions.decimalConf.map(_ => "BinaryArithmetic")

  /** Functions that [[CheapFunctions]] does not list. */
  private val NotEvaluated = unlessIn("3.5")("InitCap", "JsonToStructs") ++
    unlessIn("3.5", "4.0")("MapZipWith", "StringSplit", "StringToMap")

  /** Classes that read confs for something else than the results of a function of columns. */
  private val Harmless = Set(
    "CodeGeneratorWithInterpretedFallback",
    "CommutativeExpression",
    "ExpressionsEvaluator",
    "GroupingSets",
    "InSubquery",
    "ListQuery",
    "Literal",
    "PadExpressionBuilderBase",
    "StructFieldsOperation",
    "UserDefinedGenerator"
  ) ++ unlessIn("3.5")("SchemaOfXml")

  /** Names of the classes of functions, without companions, that call SQLConf.get in other methods. */
  private def found: Set[String] = {
    val names = mutable.Set.empty[String]
    val jar = new File(classOf[Expression].getProtectionDomain.getCodeSource.getLocation.toURI)
    val folder = classOf[Expression].getPackageName.replace('.', '/')
    Using.resource(new JarFile(jar)) { file =>
      file.entries.asScala
        .filter(e => e.getName.startsWith(s"$folder/") && e.getName.endsWith(".class"))
        .filterNot(e => e.getName.drop(folder.length + 1).contains('/') || e.getName.endsWith("$.class"))
        .foreach(e => if (reads(Using.resource(file.getInputStream(e))(_.readAllBytes()))) names += simple(e.getName))
    }
    names.toSet
  }

  private def simple(path: String): String = path.substring(path.lastIndexOf('/') + 1).stripSuffix(".class")

  private def reads(bytes: Array[Byte]): Boolean = {
    var isReader = false
    new ClassReader(bytes).accept(
      new ClassVisitor(Opcodes.ASM9) {
        override def visitMethod(access: Int, name: String, d: String, s: String, e: Array[String]): MethodVisitor =
          if (Early(name)) null
          else
            new MethodVisitor(Opcodes.ASM9) {
              override def visitMethodInsn(op: Int, owner: String, called: String, d: String, i: Boolean): Unit =
                if (owner == "org/apache/spark/sql/internal/SQLConf$" && called == "get") isReader = true
            }
      },
      ClassReader.SKIP_DEBUG
    )
    isReader
  }
}
