// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.topics.model.CacheLoss;

/** Tells all who count calls that the cache has lost its state. */
public interface LossAnnouncer {
  /**
   * Writes the loss into every partition of the calls topic; blocks for some seconds at most.
   *
   * @throws FailedException when it may be missing in one of them
   */
  void announce(CacheLoss loss) throws FailedException;

  /** The loss is not known to all; the message says why. */
  final class FailedException extends Exception {
    private static final long serialVersionUID = 1L;

    public FailedException(String message, Throwable cause) {
      super(message, cause);
    }
  }
}
