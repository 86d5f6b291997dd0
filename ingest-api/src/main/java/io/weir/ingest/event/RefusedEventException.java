// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.event;

/** Thrown if an event cannot be counted: an attribute or its data is not what the rules ask for. */
public final class RefusedEventException extends Exception {
  private static final long serialVersionUID = 1L;
  private final String field;
  private final String rule;

  RefusedEventException(String field, String rule) {
    super(field + " " + rule, null, false, false);
    this.field = field;
    this.rule = rule;
  }

  /** Returns the attribute, or the member of the data, that is wrong. */
  public String field() {
    return field;
  }

  /** Returns what it must be, worded to follow its name. */
  public String rule() {
    return rule;
  }
}
