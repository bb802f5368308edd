// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task;

import java.lang.invoke.MethodHandle;
import org.apache.iceberg.ContentFile;

/**
 * Sets the sequence numbers of a content file, which Iceberg's builders cannot set.
 *
 * <p>This class looks up method handles to the setters once, when it is loaded; loading fails if Iceberg no longer has
 * the setters.
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
    try {
      return ContentFileSetters.find(name, Long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}
