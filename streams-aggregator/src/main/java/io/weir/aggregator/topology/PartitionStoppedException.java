// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

/**
 * Thrown when a record makes the code fail, to abort the current transaction. A new thread then
 * continues to count the other partitions.
 */
public final class PartitionStoppedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  PartitionStoppedException(String message, RuntimeException failure) {
    super(message, failure);
  }
}
