// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

/** Tokens that were noted as admitted, while nobody was told so yet. */
interface AdmittedTokens {
  /** Nothing was noted. */
  AdmittedTokens NONE = () -> {};

  /** Nobody was told: it was no admission. */
  void takeBack();
}
