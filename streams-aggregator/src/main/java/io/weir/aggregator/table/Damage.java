// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import java.util.List;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

/**
 * A rule that distinguishes damage of a RocksDB folder from temporary failures. Stateless and
 * thread-safe.
 */
final class Damage {
  /** Messages of temporary failures that RocksDB reports as corruption when it opens a folder. */
  private static final List<String> LACKS =
      List.of("Too many open files", "No space left", "Cannot allocate memory");

  private Damage() {}

  /**
   * Returns whether a failure means that files are damaged or missing, so that a retry cannot
   * succeed.
   */
  static boolean is(RocksDBException failed) {
    Status status = failed.getStatus();
    String detail = String.valueOf(failed.getMessage());
    if (status == null || LACKS.stream().anyMatch(detail::contains)) {
      return false;
    }
    return status.getCode() == Status.Code.Corruption
        || (status.getCode() == Status.Code.IOError && detail.contains("No such file"));
  }
}
