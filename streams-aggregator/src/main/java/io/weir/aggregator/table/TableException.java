// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when the table cannot be opened, read or written. The message names the folder or the
 * cause.
 */
public final class TableException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  TableException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
