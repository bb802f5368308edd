// SPDX-License-Identifier: Apache-2.0
// The body of a method, which Spark's own compiler (Janino) compiles on the driver: it appends data files that do not
// exist to a table, with bounds for each column. Column 0 ascends from file to file; the other columns are spread, so
// that each file spans half of their values. Parameters: org.apache.iceberg.Table table, Integer first, Integer end.
final long ROWS = 1000L;
java.util.List columns = table.schema().columns();
org.apache.iceberg.AppendFiles append = table.newFastAppend();
for (int file = first.intValue(); file < end.intValue(); file++) {
  java.util.Map counts = new java.util.HashMap();
  java.util.Map nulls = new java.util.HashMap();
  java.util.Map least = new java.util.HashMap();
  java.util.Map greatest = new java.util.HashMap();
  for (int position = 0; position < columns.size(); position++) {
    org.apache.iceberg.types.Types.NestedField column =
      (org.apache.iceberg.types.Types.NestedField) columns.get(position);
    Integer id = Integer.valueOf(column.fieldId());
    long low = position == 0 ? file * ROWS : (file * 7919L * (position + 1)) % 500000L;
    long high = position == 0 ? low + ROWS - 1L : low + 500000L;
    counts.put(id, Long.valueOf(ROWS));
    nulls.put(id, Long.valueOf(0L));
    least.put(id, org.apache.iceberg.types.Conversions.toByteBuffer(column.type(), Long.valueOf(low)));
    greatest.put(id, org.apache.iceberg.types.Conversions.toByteBuffer(column.type(), Long.valueOf(high)));
  }
  append.appendFile(
    org.apache.iceberg.DataFiles.builder(table.spec())
      .withPath(table.location() + "/data/" + file + ".parquet")
      .withFormat(org.apache.iceberg.FileFormat.PARQUET)
      .withFileSizeInBytes(67108864L)
      .withRecordCount(ROWS)
      .withMetrics(new org.apache.iceberg.Metrics(Long.valueOf(ROWS), null, counts, nulls, null, least, greatest))
      .build());
}
append.commit();
