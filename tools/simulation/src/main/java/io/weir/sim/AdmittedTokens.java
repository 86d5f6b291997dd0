// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

/** Tokens that were recorded as admitted before a caller got a response. */
interface AdmittedTokens {
  /** No tokens. */
  AdmittedTokens NONE = () -> {};

  /** Removes the record. Called when no caller gets a response: then no tokens were admitted. */
  void takeBack();
}
