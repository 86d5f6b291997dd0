// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

/** Tokens that were recorded as admitted before a caller got a response. */
interface AdmittedTokens {
  /** No tokens. */
  AdmittedTokens NONE = () -> {};

  /** Undoes the record of these tokens. Called when the caller gets no response. */
  void takeBack();
}
