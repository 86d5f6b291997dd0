// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

/**
 * Whether topics may have fewer copies than are needed to survive the loss of one broker ({@code
 * WEIR_SINGLE_COPY}).
 */
public enum SingleCopy {
  /** Every topic has three copies, and an acknowledged record is in at least two of them. */
  REFUSE,
  /** There may be only one broker, and its loss is accepted. */
  ALLOW;

  /** The environment variable that sets it. */
  public static final String VARIABLE = "WEIR_SINGLE_COPY";
}
