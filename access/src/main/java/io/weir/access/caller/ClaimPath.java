// SPDX-License-Identifier: Apache-2.0
package io.weir.access.caller;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The position of a claim in a token. A text without a leading slash is the literal name of a
 * claim, such as {@code sub} or {@code org.id}. A text with a leading slash is a JSON Pointer (RFC
 * 6901) to a member of objects. Example: {@code /org/id} is the member {@code id} of the claim
 * {@code org}. In a JSON Pointer, {@code ~1} is a slash and {@code ~0} is a tilde. A JSON Pointer
 * must not point into lists. Immutable.
 *
 * @param text the text from the settings
 * @param names the names of the members along the path, at least one
 */
public record ClaimPath(String text, List<String> names) {
  /** The rule for a path, as a phrase that follows the name of the variable. */
  static final String RULE =
      "must be the name of a claim, or a JSON Pointer such as /org/id, of 1 to 128 visible ASCII"
          + " characters without comma, equals sign, quotation mark and backslash";

  /**
   * The form of a path. Paths appear between quotation marks in header fields, and in
   * comma-separated settings.
   */
  private static final Pattern FORM = Pattern.compile("[!#-+\\--<>-\\[\\]-~]{1,128}");

  private static final Pattern ESCAPES = Pattern.compile("(?:[^~]|~[01])+");

  public ClaimPath {
    names = List.copyOf(names);
  }

  /** Parses a path; returns null if the text is not a path. */
  public static @Nullable ClaimPath parse(String text) {
    if (!FORM.matcher(text).matches()) {
      return null;
    }
    if (!text.startsWith("/")) {
      return new ClaimPath(text, List.of(text));
    }
    List<String> names = new ArrayList<>();
    for (String name : text.substring(1).split("/", -1)) {
      if (!ESCAPES.matcher(name).matches()) {
        return null;
      }
      names.add(name.replace("~1", "/").replace("~0", "~"));
    }
    return new ClaimPath(text, names);
  }

  /**
   * Returns the value of the claim; null if the token has no such claim.
   *
   * @param claims all claims of a token, by name
   */
  @Nullable Object in(Map<String, ?> claims) {
    Object value = claims;
    for (String name : names) {
      value = value instanceof Map<?, ?> members ? members.get(name) : null;
    }
    return value;
  }

  @Override
  public String toString() {
    return text;
  }
}
