// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Finds a redis-server executable on PATH, or else in the embedded-redis jar. */
final class RedisBinary {
  private RedisBinary() {}

  /**
   * Returns the path of the executable.
   *
   * @param folder the folder into which the bundled binary is unpacked
   * @throws ServerStartException if there is no executable for this machine
   */
  static Path find(Path folder) throws IOException {
    Path onPath = onPath();
    return onPath != null ? onPath : unpack(folder);
  }

  private static @Nullable Path onPath() {
    String path = System.getProperty("weir.redis.path", System.getenv("PATH"));
    if (path == null) {
      return null;
    }
    for (String directory : path.split(File.pathSeparator, -1)) {
      Path candidate = Path.of(directory, "redis-server");
      if (!directory.isEmpty() && Files.isExecutable(candidate)) {
        return candidate;
      }
    }
    return null;
  }

  private static Path unpack(Path folder) throws IOException {
    String resource = bundledName();
    Path target = folder.resolve("redis-server");
    if (Files.isExecutable(target)) {
      return target;
    }
    try (InputStream bundled = RedisBinary.class.getResourceAsStream("/" + resource)) {
      if (bundled == null) {
        throw new ServerStartException(
            "no redis-server is on PATH, and Weir has no binary for this machine ("
                + resource
                + "); install Redis, or set WEIR_REDIS to a running server");
      }
      Files.createDirectories(folder);
      Path unpacked = Files.createTempFile(folder, "redis-server", ".new");
      Files.copy(bundled, unpacked, StandardCopyOption.REPLACE_EXISTING);
      if (!unpacked.toFile().setExecutable(true)) {
        throw new ServerStartException("cannot make " + unpacked + " executable");
      }
      return Files.move(unpacked, target, StandardCopyOption.ATOMIC_MOVE);
    }
  }

  private static String bundledName() {
    String os = System.getProperty("os.name", "").toLowerCase(Locale.ROOT);
    String arch = System.getProperty("os.arch", "").toLowerCase(Locale.ROOT);
    boolean arm = arch.contains("aarch64") || arch.contains("arm");
    if (os.contains("mac")) {
      return "redis-server-6.2.6-v5-darwin-" + (arm ? "arm64" : "amd64");
    }
    return arm ? "redis-server-6.2.7-linux-arm64" : "redis-server-6.2.6-v5-linux-amd64";
  }
}
