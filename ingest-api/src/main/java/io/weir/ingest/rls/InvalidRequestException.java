// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

/** Thrown if a request is not one that can be decided, whatever the policies are. */
public final class InvalidRequestException extends Exception {
  private static final long serialVersionUID = 1L;

  private final String field;
  private final String rule;

  /**
   * Creates the exception.
   *
   * @param field the path of the field that is wrong; empty for the whole request
   * @param rule what is wrong with it, worded to follow the field's name
   */
  InvalidRequestException(String field, String rule) {
    super((field + " " + rule).strip(), null, false, false);
    this.field = field;
    this.rule = rule;
  }

  /** Returns the path of the field that is wrong; empty for the whole request. */
  public String field() {
    return field;
  }

  /** Returns what is wrong with the field. */
  public String rule() {
    return rule;
  }
}
