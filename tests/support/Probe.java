// SPDX-License-Identifier: Apache-2.0
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.iceberg.ContentScanTask;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedMutableProjection;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTableWithFilters;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.types.DataType;
import scala.collection.JavaConverters;

/**
 * Plans many queries and evaluates many conditions in one call from Python. It uses no class of the product.
 *
 * <p>Texts are joined by SEPARATOR, results by line breaks. Janino compiles this file in the JVM of the session.
 */
public class Probe {
  private static final String SEPARATOR = "\u0001";
  private static final String LINE = "\u0002";
  private static final int MAX_MESSAGE = 160;
  private static final int TOGETHER = 24;

  /** The beginning of the name of a column that stands for a condition in a text; its number follows. */
  private static final String CONDITION = "condition_number_";

  private final SparkSession spark;
  private final Map numbers = new HashMap();
  private final Map parsed = new HashMap();

  public Probe(SparkSession spark) {
    this.spark = spark;
  }

  /** Sets the data files of the table: the file at place i has number i in all results. */
  public void setFiles(String paths) {
    numbers.clear();
    String[] all = paths.split(SEPARATOR);
    for (int i = 0; i < all.length; i++) numbers.put(all[i], Integer.valueOf(i));
  }

  /**
   * Plans each statement without running it. A line is the planned files, as text of '0' and '1' by number; "=" and the
   * values of its only row, if the plan reads no table; "!" and the error; "-" if the plan deletes by metadata.
   */
  public String plan(String statements, boolean readsValues) {
    String[] all = statements.split(SEPARATOR);
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < all.length; i++) {
      try {
        lines.append(planned(all[i], readsValues));
      } catch (Throwable error) {
        lines.append(failure(error));
      }
      lines.append('\n');
    }
    return lines.toString();
  }

  /**
   * Runs a query with its conditions; returns its rows of encoded values, each with LINE at its end; "!" and the error if
   * it fails.
   */
  public String rows(String query, String conditions) {
    try {
      Row[] rows = rows(execution(query, conditions));
      StringBuilder all = new StringBuilder();
      for (int i = 0; i < rows.length; i++) {
        for (int c = 0; c < rows[i].length(); c++) all.append(c == 0 ? "" : SEPARATOR).append(encoded(rows[i].get(c)));
        all.append(LINE);
      }
      return all.toString();
    } catch (Throwable error) {
      return failure(error) + LINE;
    }
  }

  /** Runs a query. Without the settings of the session, its tasks would compile each expression to Java code. */
  private Row[] rows(QueryExecution execution) {
    return (Row[]) SQLExecution.withSQLConfPropagated(spark, new Rows(execution));
  }

  private String planned(String statement, boolean readsValues) throws Exception {
    QueryExecution execution = execution(statement);
    List scans = new ArrayList();
    if (!collect(execution.optimizedPlan(), scans)) return "-";
    return readsValues && !readsFiles(scans) ? "=" + values(execution) : marked(scans);
  }

  /**
   * Plans queries as the branches of one UNION ALL, which takes half the time. Branch i has a column "branch" with the
   * value i. In the texts, a column `condition_number_i` stands for condition i, so that a condition is parsed once for
   * its plan and its evaluation. Returns a line for each branch, as `plan` does, or with the paths of the files if
   * `named`; one line with the error if the plan fails.
   */
  public String planTogether(String union, String conditions, int branches, boolean named) throws Throwable {
    try {
      String[] lines = new String[branches];
      LogicalPlan plan = execution(union, conditions).optimizedPlan();
      List children = new ArrayList();
      if (plan instanceof Union) children.addAll(JavaConverters.seqAsJavaList(plan.children()));
      else children.add(plan);
      for (int i = 0; i < children.size(); i++) {
        LogicalPlan child = (LogicalPlan) children.get(i);
        List scans = new ArrayList();
        collect(child, scans);
        // Spark replaces a branch that reads nothing by an empty relation, which has no number
        if (!scans.isEmpty()) lines[branchOf(child)] = named ? String.join(SEPARATOR, paths(scans)) : marked(scans);
      }
      String nothing = named ? "" : marked(new ArrayList());
      StringBuilder all = new StringBuilder();
      for (int i = 0; i < branches; i++) all.append(lines[i] == null ? nothing : lines[i]).append('\n');
      return all.toString();
    } catch (Throwable error) {
      if (named) throw error;
      return failure(error);
    }
  }

  private static int branchOf(LogicalPlan plan) {
    Iterator nodes = JavaConverters.seqAsJavaList(plan.collectWithSubqueries(new Nodes())).iterator();
    while (nodes.hasNext()) {
      Object node = nodes.next();
      if (node instanceof Project) {
        Iterator parts = JavaConverters.seqAsJavaList(((Project) node).projectList()).iterator();
        while (parts.hasNext()) {
          Object part = parts.next();
          if (part instanceof Alias && ((Alias) part).name().equals("branch") && ((Alias) part).child() instanceof Literal)
            return ((Integer) ((Literal) ((Alias) part).child()).value()).intValue();
        }
      }
    }
    throw new IllegalStateException("a branch without a number: " + plan);
  }

  private String marked(List scans) throws Exception {
    char[] files = new char[numbers.size()];
    java.util.Arrays.fill(files, '0');
    Iterator paths = paths(scans).iterator();
    while (paths.hasNext()) {
      Object number = numbers.get(paths.next());
      if (number != null) files[((Integer) number).intValue()] = '1';
    }
    return new String(files);
  }

  private Set paths(List scans) throws Exception {
    Set paths = new HashSet();
    for (int i = 0; i < scans.size(); i++) addPaths((Scan) scans.get(i), paths);
    return paths;
  }

  /** Collects the scans of a plan and of its subqueries; false if the plan deletes whole files by metadata. */
  private static boolean collect(LogicalPlan plan, List scans) {
    Iterator nodes = JavaConverters.seqAsJavaList(plan.collectWithSubqueries(new Nodes())).iterator();
    while (nodes.hasNext()) {
      Object node = nodes.next();
      if (node instanceof DeleteFromTableWithFilters) return false;
      if (node instanceof DataSourceV2ScanRelation) scans.add(((DataSourceV2ScanRelation) node).scan());
    }
    return true;
  }

  private void addPaths(Scan scan, Set paths) throws Exception {
    Method inner = method(scan.getClass(), "inner");
    if (inner != null) {
      addPaths((Scan) inner.invoke(scan, new Object[0]), paths);
      return;
    }
    Method tasks = method(scan.getClass(), "tasks");
    if (isLocal(scan)) return;
    if (tasks == null) throw new IllegalStateException("a scan without tasks: " + scan.getClass());
    Iterator found = ((List) tasks.invoke(scan, new Object[0])).iterator();
    while (found.hasNext()) paths.add(((ContentScanTask) found.next()).file().location());
  }

  /** True for a scan of rows that Iceberg computed from its metadata, such as MIN and MAX. */
  private static boolean isLocal(Scan scan) {
    return scan.getClass().getSimpleName().equals("SparkLocalScan");
  }

  private static boolean readsFiles(List scans) {
    for (int i = 0; i < scans.size(); i++) if (!isLocal((Scan) scans.get(i))) return true;
    return false;
  }

  private String values(QueryExecution execution) {
    Row[] rows = rows(execution);
    return rows.length == 1 ? rows[0].mkString(SEPARATOR) : rows.length + " rows";
  }

  /**
   * Evaluates conditions on the rows of a query, with an error of one row or condition alone. A line has a character for
   * each row: '1' TRUE, '0' FALSE, 'n' NULL, '!' an error; or the line is "!" and the error of the whole condition.
   */
  public String evaluate(String held, String conditions) throws Exception {
    parsed.clear(); // a literal depends on settings of the session, which may have changed
    String[] all = conditions.split(SEPARATOR);
    String[] lines = new String[all.length];
    InternalRow[] rows = heldRows(held);
    // a condition that cannot be analyzed costs the analysis of the others that are evaluated with it
    for (int i = 0; i < all.length; i += TOGETHER)
      evaluate(held, rows, all, i, Math.min(i + TOGETHER, all.length), lines);
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < lines.length; i++) out.append(lines[i]).append('\n');
    return out.toString();
  }

  private final Map heldRows = new HashMap();

  private InternalRow[] heldRows(String held) throws Exception {
    InternalRow[] rows = (InternalRow[]) heldRows.get(held);
    if (rows == null) {
      rows = execution("SELECT * FROM " + held).executedPlan().executeCollect();
      heldRows.put(held, rows);
    }
    return rows;
  }

  /** Forgets the rows of all evaluated queries, whose views have changed, and all conditions. */
  public void forget() {
    heldRows.clear();
    parsed.clear();
  }

  private void evaluate(String held, InternalRow[] rows, String[] all, int from, int to, String[] lines) {
    Bound bound;
    try {
      bound = new Bound(held, all, from, to);
    } catch (Throwable error) {
      if (to - from == 1) {
        lines[from] = failure(error);
        return;
      }
      int middle = (from + to) / 2;
      evaluate(held, rows, all, from, middle, lines);
      evaluate(held, rows, all, middle, to, lines);
      return;
    }
    for (int i = from; i < to; i++) lines[i] = line(bound.projection(i - from), rows);
  }

  /**
   * Ranks columns of the rows of a query. A line has a value for each row: the place of the row's value among the
   * column's values in Spark's order, from 1; nothing for NULL.
   */
  public String rank(String held, String columns) throws Exception {
    String[] all = columns.split(SEPARATOR);
    InternalRow[] rows = heldRows(held);
    Bound bound = new Bound(held, all, 0, all.length);
    StringBuilder lines = new StringBuilder();
    for (int c = 0; c < all.length; c++) {
      Object[] values = values(bound.projection(c), rows, bound.expression(c).dataType());
      TreeMap places = new TreeMap(TypeUtils.getInterpretedOrdering(bound.expression(c).dataType()));
      for (int i = 0; i < values.length; i++) if (values[i] != null) places.put(values[i], null);
      int place = 0;
      Iterator entries = places.entrySet().iterator();
      while (entries.hasNext()) ((Map.Entry) entries.next()).setValue(Integer.valueOf(++place));
      for (int i = 0; i < values.length; i++)
        lines.append(i == 0 ? "" : SEPARATOR).append(values[i] == null ? "" : places.get(values[i]));
      lines.append(LINE);
    }
    return lines.toString();
  }

  /** The text of a value in hexadecimal digits, because it may contain a separator; "n" for NULL. */
  private static String encoded(Object value) {
    if (value == null) return "n";
    return HexFormat.of().formatHex(value.toString().getBytes(StandardCharsets.UTF_8));
  }

  /** Evaluates texts on the rows of a query. A line has the text of each row, see `encoded`. */
  public String texts(String held, String expressions) throws Exception {
    String[] all = expressions.split(SEPARATOR);
    Bound bound = new Bound(held, all, 0, all.length);
    StringBuilder lines = new StringBuilder();
    for (int c = 0; c < all.length; c++) {
      Object[] values = values(bound.projection(c), heldRows(held), bound.expression(c).dataType());
      for (int i = 0; i < values.length; i++)
        lines.append(i == 0 ? "" : SEPARATOR).append(encoded(values[i]));
      lines.append(LINE);
    }
    return lines.toString();
  }

  private static Object[] values(InterpretedMutableProjection projection, InternalRow[] rows, DataType type) {
    Object[] values = new Object[rows.length];
    for (int i = 0; i < rows.length; i++) values[i] = InternalRow.copyValue(projection.apply(rows[i]).get(0, type));
    return values;
  }

  /** Expressions over the columns of the rows of a query. */
  private class Bound {
    private final List parts;
    private final LogicalPlan child;
    private final Inlined inlined = new Inlined();
    private final int before;

    Bound(String held, String[] all, int from, int to) throws Exception {
      StringBuilder select = new StringBuilder("SELECT *");
      for (int i = from; i < to; i++) select.append(", ").append(CONDITION).append(i).append(" AS p").append(i);
      LogicalPlan plan = replaced(execution(select.append(" FROM ").append(held).toString(), all).analyzed());
      if (!(plan instanceof Project)) throw new IllegalStateException("not a projection: " + plan);
      parts = JavaConverters.seqAsJavaList(((Project) plan).projectList());
      LogicalPlan below = ((Project) plan).child();
      for (; below instanceof Project; below = ((Project) below).child()) inlined.add(((Project) below).projectList());
      // the rows have the columns of this leaf; an expression over any other node would read beyond them
      if (!(below instanceof LogicalRDD)) throw new IllegalStateException("not over rows: " + below);
      child = below;
      before = parts.size() - (to - from);
    }

    Expression expression(int number) {
      return inlined.over(((Alias) parts.get(before + number)).child());
    }

    InterpretedMutableProjection projection(int number) {
      List one = java.util.Collections.singletonList(expression(number));
      return new InterpretedMutableProjection(JavaConverters.asScalaBuffer(one).toSeq(), child.output());
    }
  }

  /**
   * Replaces the parts of an analyzed plan that cannot be evaluated, as the optimizer does first. No other rule of the
   * optimizer takes part, so its errors cannot change the rows that match.
   */
  private LogicalPlan replaced(LogicalPlan analyzed) throws Exception {
    LogicalPlan finished = spark.sessionState().optimizer().FinishAnalysis().apply(analyzed);
    if (spark.version().startsWith("3.")) return finished; // its expressions have no common parts
    Class rule = Class.forName("org.apache.spark.sql.catalyst.optimizer.RewriteWithExpression$");
    return (LogicalPlan) ((Rule) rule.getField("MODULE$").get(null)).apply(finished);
  }

  private static String line(InterpretedMutableProjection condition, InternalRow[] rows) {
    char[] marks = new char[rows.length];
    for (int i = 0; i < rows.length; i++) {
      try {
        InternalRow value = condition.apply(rows[i]);
        marks[i] = value.isNullAt(0) ? 'n' : (value.getBoolean(0) ? '1' : '0');
      } catch (Throwable error) {
        marks[i] = '!';
      }
    }
    return new String(marks);
  }

  private QueryExecution execution(String query, String conditions) throws Exception {
    return execution(query, conditions.split(SEPARATOR, -1));
  }

  private QueryExecution execution(String query, String[] conditions) throws Exception {
    LogicalPlan template = spark.sessionState().sqlParser().parsePlan(query);
    LogicalPlan whole = (LogicalPlan) template.transformAllExpressions(new Placed(conditions));
    return spark.sessionState().executePlan(whole, CommandExecutionMode.SKIP());
  }

  /** Returns a parsed condition. Its columns are not resolved, so that it can be a part of any number of plans. */
  private Expression condition(String text) {
    Expression held = (Expression) parsed.get(text);
    if (held != null) return held;
    try {
      held = spark.sessionState().sqlParser().parseExpression(text);
    } catch (Exception error) { // Java's partial functions cannot throw it
      throw new IllegalStateException(error);
    }
    parsed.put(text, held);
    return held;
  }

  private QueryExecution execution(String query) throws Exception {
    LogicalPlan parsed = spark.sessionState().sqlParser().parsePlan(query);
    return spark.sessionState().executePlan(parsed, CommandExecutionMode.SKIP());
  }

  private final Map methods = new HashMap();

  private Method method(Class of, String name) {
    String key = of.getName() + "." + name;
    if (!methods.containsKey(key)) {
      Method found = null;
      for (Class c = of; c != null && found == null; c = c.getSuperclass()) {
        try {
          found = c.getDeclaredMethod(name, new Class[0]);
          found.setAccessible(true);
        } catch (NoSuchMethodException absent) {
          found = null;
        }
      }
      methods.put(key, found);
    }
    return (Method) methods.get(key);
  }

  /** Returns "!" and the first cause of the error: Spark hides the error of a rule in an internal error. */
  private static String failure(Throwable thrown) {
    Throwable error = thrown;
    while (error.getCause() != null && error.getCause() != error) error = error.getCause();
    String text = (error.getClass().getSimpleName() + ": " + error.getMessage()).replace('\n', ' ');
    return "!" + (text.length() > MAX_MESSAGE ? text.substring(0, MAX_MESSAGE) : text);
  }

  /** Replaces columns that a projection below computes, such as common parts of a BETWEEN, by their expressions. */
  public static class Inlined extends scala.runtime.AbstractPartialFunction {
    private final Map computed = new HashMap();

    void add(Object projectList) {
      Iterator parts = JavaConverters.seqAsJavaList((scala.collection.Seq) projectList).iterator();
      while (parts.hasNext()) {
        Object part = parts.next();
        if (part instanceof Alias) computed.put(((Alias) part).exprId(), ((Alias) part).child());
      }
    }

    Expression over(Expression expression) {
      Expression before = null;
      Expression after = expression;
      while (before != after) {
        before = after;
        after = (Expression) before.transform(this);
      }
      return after;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof AttributeReference && computed.containsKey(((AttributeReference) node).exprId());
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      return isDefinedAt(node) ? computed.get(((AttributeReference) node).exprId()) : otherwise.apply(node);
    }
  }

  /** Replaces the columns that stand for conditions. */
  public class Placed extends scala.runtime.AbstractPartialFunction {
    private final String[] conditions;

    Placed(String[] conditions) {
      this.conditions = conditions;
    }

    private int numberOf(Object node) {
      if (!(node instanceof UnresolvedAttribute)) return -1;
      String name = ((UnresolvedAttribute) node).name();
      return name.startsWith(CONDITION) ? Integer.parseInt(name.substring(CONDITION.length())) : -1;
    }

    public boolean isDefinedAt(Object node) {
      return numberOf(node) >= 0;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      int number = numberOf(node);
      return number >= 0 ? condition(conditions[number]) : otherwise.apply(node);
    }
  }

  /** Runs a query when it is called. */
  public static class Rows extends scala.runtime.AbstractFunction0 {
    private final QueryExecution execution;

    Rows(QueryExecution execution) {
      this.execution = execution;
    }

    public Object apply() {
      return execution.executedPlan().executeCollectPublic();
    }
  }

  /** A partial function that takes every node; Java has no literal for it. */
  public static class Nodes extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return true;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      return node;
    }
  }
}
