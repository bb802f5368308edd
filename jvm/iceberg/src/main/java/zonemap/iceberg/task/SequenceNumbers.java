// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;

/**
 * Sets the sequence numbers of a content file, which Iceberg's builders cannot set.
 *
 * <p>The setters are public methods of a package-private class of Iceberg. This class looks up method handles to them
 * once, when it is loaded; loading fails if Iceberg no longer has the setters.
 */
final class SequenceNumbers {
  private static final MethodHandle DATA_SETTER = setter("setDataSequenceNumber");
  private static final MethodHandle FILE_SETTER = setter("setFileSequenceNumber");

  private SequenceNumbers() {}

  static void set(ContentFile<?> file, long dataSequenceNumber, long fileSequenceNumber) {
    try {
      DATA_SETTER.invokeExact((Object) file, Long.valueOf(dataSequenceNumber));
      FILE_SETTER.invokeExact((Object) file, Long.valueOf(fileSequenceNumber));
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("Cannot set the sequence numbers of '" + file.location() + "'.", e);
    }
  }

  private static MethodHandle setter(String name) {
    Object sample =
        DataFiles.builder(PartitionSpec.unpartitioned())
            .withPath("sample")
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(0)
            .withRecordCount(0)
            .build();
    try {
      Method method = sample.getClass().getMethod(name, Long.class);
      method.setAccessible(true);
      return MethodHandles.lookup()
          .unreflect(method)
          .asType(MethodType.methodType(void.class, Object.class, Long.class));
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}
