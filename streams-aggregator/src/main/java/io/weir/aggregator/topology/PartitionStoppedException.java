// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

/**
 * Thrown to abort the transaction in which a record made the code fail. The replacing thread
 * continues to count the other partitions.
 */
public final class PartitionStoppedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  PartitionStoppedException(String message, RuntimeException failure) {
    super(message, failure);
  }
}
