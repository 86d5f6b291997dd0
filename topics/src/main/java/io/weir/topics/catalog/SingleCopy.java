// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

/**
 * Whether topics may be kept in fewer copies than the loss of one broker allows ({@code
 * WEIR_SINGLE_COPY}).
 */
public enum SingleCopy {
  /** Every topic has three copies, and what is acknowledged is in two of them at least. */
  REFUSE,
  /** One broker is all there is, and its loss is accepted. */
  ALLOW;

  /** The variable that chooses. */
  public static final String VARIABLE = "WEIR_SINGLE_COPY";
}
