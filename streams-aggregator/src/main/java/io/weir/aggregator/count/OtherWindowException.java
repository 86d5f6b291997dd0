// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import java.time.Duration;

/**
 * The stored counts have another window than the settings. The window belongs to the data, since
 * ledger rows of two lengths cannot be told apart by who bills them.
 */
public final class OtherWindowException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  OtherWindowException(long storedMillis, long setMillis) {
    super(
        "the data were counted with WEIR_WINDOW="
            + Duration.ofMillis(storedMillis)
            + ", and this process has "
            + Duration.ofMillis(setMillis)
            + "; set it back, or begin with other topics and another WEIR_DATA");
  }
}
