// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

/** Tokens that were noted as admitted before any caller was answered. */
interface AdmittedTokens {
  /** No tokens. */
  AdmittedTokens NONE = () -> {};

  /** Takes the note back: no caller was answered, so nothing was admitted. */
  void takeBack();
}
