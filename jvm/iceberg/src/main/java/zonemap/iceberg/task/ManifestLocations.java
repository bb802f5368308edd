// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task;

import java.lang.invoke.MethodHandle;
import org.apache.iceberg.ContentFile;

/**
 * Sets the location of the manifest that lists a content file.
 *
 * <p>A commit that removes files opens only the manifests that its files name, if all of them name one; otherwise it
 * opens each manifest that may list one of them. Without the setter, files name no manifest, which costs time only.
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
    try {
      return ContentFileSetters.find("setManifestLocation", String.class);
    } catch (ReflectiveOperationException | RuntimeException e) {
      return null;
    }
  }
}
