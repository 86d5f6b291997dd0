// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

/**
 * Whether topics may have too few copies to survive the loss of one broker ({@code
 * WEIR_SINGLE_COPY}).
 */
public enum SingleCopy {
  /** Every topic has three copies, and an acknowledged record is in at least two of them. */
  REFUSE,
  /** One broker is enough, and its loss is accepted. */
  ALLOW;

  /** The environment variable of this setting. */
  public static final String VARIABLE = "WEIR_SINGLE_COPY";
}
