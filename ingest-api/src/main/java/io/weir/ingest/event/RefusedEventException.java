// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.event;

/** Thrown if an event cannot be counted, because an attribute or its data violates the rules. */
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

  /** Returns the violated rule, worded to follow the field's name. */
  public String rule() {
    return rule;
  }
}
