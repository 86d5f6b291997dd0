// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

/** Tokens that were recorded as admitted before a caller got a response. */
interface AdmittedTokens {
  /** No tokens. */
  AdmittedTokens NONE = () -> {};

  /** Undoes the record, because no caller got a response and so no tokens were admitted. */
  void takeBack();
}
