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
 * Sets the location of the manifest that lists a content file.
 *
 * <p>A commit that removes files opens only the manifests that its files name, if all of them name one; otherwise it
 * opens each manifest that may list one of them. The setter is a method of a package-private class of Iceberg. Without
 * it files name no manifest, which costs time only.
 */
final class ManifestLocations {
  private static final MethodHandle SETTER = setter();

  private ManifestLocations() {}

  static void set(ContentFile<?> file, String location) {
    if (SETTER != null) {
      try {
        SETTER.invokeExact((Object) file, location);
      } catch (RuntimeException | Error e) {
        throw e;
      } catch (Throwable e) {
        throw new IllegalStateException("Cannot set the manifest of '" + file.location() + "'.", e);
      }
    }
  }

  private static MethodHandle setter() {
    Object sample =
        DataFiles.builder(PartitionSpec.unpartitioned())
            .withPath("sample")
            .withFormat(FileFormat.PARQUET)
            .withFileSizeInBytes(0)
            .withRecordCount(0)
            .build();
    for (Class<?> declaring = sample.getClass(); declaring != null; declaring = declaring.getSuperclass()) {
      try {
        Method method = declaring.getDeclaredMethod("setManifestLocation", String.class);
        method.setAccessible(true);
        return MethodHandles.lookup()
            .unreflect(method)
            .asType(MethodType.methodType(void.class, Object.class, String.class));
      } catch (NoSuchMethodException e) {
        // it is a method of a superclass, or there is none
      } catch (IllegalAccessException | RuntimeException e) {
        return null;
      }
    }
    return null;
  }
}
