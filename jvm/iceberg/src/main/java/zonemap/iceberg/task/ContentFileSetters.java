// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;

/** Finds setters of content files: methods of a package-private class of Iceberg, whose builders lack them. */
final class ContentFileSetters {
  private ContentFileSetters() {}

  /**
   * Returns a handle that takes a content file, as an Object, and the value.
   *
   * @throws ReflectiveOperationException if Iceberg has no such setter
   */
  static MethodHandle find(String name, Class<?> type) throws ReflectiveOperationException {
    Object sample =
        DataFiles.builder(PartitionSpec.unpartitioned())
            .withPath("sample")
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(0)
            .withRecordCount(0)
            .build();
    Method method = declared(sample.getClass(), name, type);
    method.setAccessible(true);
    return MethodHandles.lookup()
        .unreflect(method)
        .asType(MethodType.methodType(void.class, Object.class, type));
  }

  private static Method declared(Class<?> of, String name, Class<?> type) throws NoSuchMethodException {
    try {
      return of.getDeclaredMethod(name, type);
    } catch (NoSuchMethodException e) {
      if (of.getSuperclass() == null) throw e;
      return declared(of.getSuperclass(), name, type);
    }
  }
}
