// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.event;

/** Thrown when an event cannot be counted, because an attribute or the data violates a rule. */
public final class RefusedEventException extends Exception {
  private static final long serialVersionUID = 1L;
  private final String field;
  private final String rule;

  RefusedEventException(String field, String rule) {
    super(field + " " + rule, null, false, false);
    this.field = field;
    this.rule = rule;
  }

  /** Returns the invalid attribute, or the invalid member of the data. */
  public String field() {
    return field;
  }

  /** Returns the violated rule as a phrase that follows the field's name. */
  public String rule() {
    return rule;
  }
}
