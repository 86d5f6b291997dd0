// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

/**
 * The setting that allows topics with too few copies to survive the loss of one broker ({@code
 * WEIR_SINGLE_COPY}).
 */
public enum SingleCopy {
  /** Topics must have three copies, and an acknowledged record must be in at least two of them. */
  REFUSE,
  /** Topics may have one copy. The loss of its broker loses records. */
  ALLOW;

  /** The environment variable of this setting. */
  public static final String VARIABLE = "WEIR_SINGLE_COPY";
}
