// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import java.io.Serial;

/** Thrown when a journal cannot be opened, written or read. */
public final class JournalException extends Exception {
  @Serial private static final long serialVersionUID = 1;

  public JournalException(String message) {
    super(message);
  }

  public JournalException(String message, Throwable cause) {
    super(message, cause);
  }
}
