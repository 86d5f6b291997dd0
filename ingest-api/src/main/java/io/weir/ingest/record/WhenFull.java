// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

/** What becomes of a call when the journal has reached its bound. */
public enum WhenFull {
  /** The caller is told that the service cannot take it; nothing is lost. */
  REJECT,
  /** The caller is answered; the call is not counted, but its loss is. */
  DROP
}
