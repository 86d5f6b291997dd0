// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.topics.model.CacheLoss;

/** Publishes to all aggregators that the cache has lost its state. */
public interface LossAnnouncer {
  /**
   * Writes the loss to every partition of the calls topic. Blocks for at most some seconds.
   *
   * @throws FailedException if the loss may be missing in a partition
   */
  void announce(CacheLoss loss) throws FailedException;

  /** Thrown when the loss may be missing in a partition. The message states the cause. */
  final class FailedException extends Exception {
    private static final long serialVersionUID = 1L;

    public FailedException(String message, Throwable cause) {
      super(message, cause);
    }
  }
}
