// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

/**
 * Whether Weir accepts topics with too few copies ({@code WEIR_SINGLE_COPY}). A topic with too few
 * copies can lose records if one broker is lost.
 */
public enum SingleCopy {
  /** Topics must have three copies, and an acknowledged record must be in at least two copies. */
  REFUSE,
  /** Topics may have one copy. Records are lost if the broker with the only copy is lost. */
  ALLOW;

  /** The environment variable of this setting. */
  public static final String VARIABLE = "WEIR_SINGLE_COPY";
}
