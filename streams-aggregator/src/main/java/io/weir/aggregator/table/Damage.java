// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

/** Recognizes damaged folders of RocksDB, and deletes folders. Stateless and thread-safe. */
final class Damage {
  /** RocksDB also reports these as corruption, when it opens a folder. */
  private static final List<String> LACKS =
      List.of("Too many open files", "No space left", "Cannot allocate memory");

  private Damage() {}

  /** Returns whether a failure means that files are damaged or missing, so that a retry is vain. */
  static boolean is(RocksDBException failed) {
    Status status = failed.getStatus();
    String detail = String.valueOf(failed.getMessage());
    if (status == null || LACKS.stream().anyMatch(detail::contains)) {
      return false;
    }
    return status.getCode() == Status.Code.Corruption
        || (status.getCode() == Status.Code.IOError && detail.contains("No such file"));
  }

  /** Deletes a folder with everything in it, if it exists. */
  static void delete(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.delete(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path visited, @Nullable IOException failed)
              throws IOException {
            if (failed != null) {
              throw failed;
            }
            Files.delete(visited);
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
