// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

/** Thrown when a request is invalid. Weir cannot decide such a request under any policies. */
public final class InvalidRequestException extends Exception {
  private static final long serialVersionUID = 1L;

  private final String field;
  private final String rule;

  /**
   * Creates the exception.
   *
   * @param field path of the invalid field; empty for the whole request
   * @param rule the violated rule as a phrase that follows the field's name
   */
  InvalidRequestException(String field, String rule) {
    super((field + " " + rule).strip(), null, false, false);
    this.field = field;
    this.rule = rule;
  }

  /** Returns the path of the invalid field; empty for the whole request. */
  public String field() {
    return field;
  }

  /** Returns the rule that the field violates. */
  public String rule() {
    return rule;
  }
}
