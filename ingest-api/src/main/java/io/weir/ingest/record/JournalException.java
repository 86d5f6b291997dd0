// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.io.Serial;

/** The journal could not be written or read. Its writer turns this into a value. */
public final class JournalException extends Exception {
  @Serial private static final long serialVersionUID = 1;

  public JournalException(String message) {
    super(message);
  }

  public JournalException(String message, Throwable cause) {
    super(message, cause);
  }
}
