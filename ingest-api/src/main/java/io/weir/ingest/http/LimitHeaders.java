// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.topics.settings.Settings;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.time.Duration;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The header fields that report limits to callers, and the random delay added to retry times.
 * Immutable.
 *
 * @param forms the sets of fields, at least one
 * @param retryJitter maximum random delay added to {@code Retry-After}, 0 to 1 h
 */
public record LimitHeaders(Set<Form> forms, Duration retryJitter) {
  /** The variable that lists the sets of fields. */
  public static final String FORMS = "WEIR_LIMIT_HEADERS";

  /** The variable with the maximum random delay. */
  public static final String RETRY_JITTER = "WEIR_RETRY_AFTER_JITTER";

  /** Maximum of {@code retryJitter}. */
  public static final Duration MAX_RETRY_JITTER = Duration.ofHours(1);

  /** The fields of the newest draft, and no random delay. */
  public static final LimitHeaders DEFAULT =
      new LimitHeaders(EnumSet.of(Form.DRAFT_11), Duration.ZERO);

  /** A set of header fields. */
  public enum Form {
    /** {@code RateLimit-Policy} and {@code RateLimit}, with all enforced policies. */
    DRAFT_11("", false),
    /** {@code RateLimit-Limit}, {@code -Remaining}, and {@code -Reset} in seconds from now. */
    DRAFT_06("RateLimit-", false),
    /**
     * {@code X-RateLimit-Limit}, {@code -Remaining}, and {@code -Reset} in seconds since the epoch.
     */
    X_EPOCH("X-RateLimit-", true),
    /** {@code X-RateLimit-Limit}, {@code -Remaining}, and {@code -Reset} in seconds from now. */
    X_DELTA("X-RateLimit-", false);

    private final String prefix;
    private final boolean sinceEpoch;

    Form(String prefix, boolean sinceEpoch) {
      this.prefix = prefix;
      this.sinceEpoch = sinceEpoch;
    }

    /**
     * Returns the prefix of the field names in a legacy set; empty for the fields of the newest
     * draft.
     */
    String prefix() {
      return prefix;
    }

    /** Returns true if the reset is a point in time, false if the reset is a duration. */
    boolean sinceEpoch() {
      return sinceEpoch;
    }

    private String word() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /**
   * Validates the settings.
   *
   * @throws IllegalArgumentException if there is no set, two sets use the same names, or the delay
   *     is out of range
   */
  public LimitHeaders {
    if (forms.isEmpty()) {
      throw new IllegalArgumentException("must name at least one set of fields");
    }
    forms = Collections.unmodifiableSet(EnumSet.copyOf(forms));
    if (forms.contains(Form.X_EPOCH) && forms.contains(Form.X_DELTA)) {
      throw new IllegalArgumentException(
          "x-epoch and x-delta use the same names; give one of them");
    }
    if (retryJitter.isNegative() || retryJitter.compareTo(MAX_RETRY_JITTER) > 0) {
      throw new IllegalArgumentException(
          "retryJitter must be 0 to " + MAX_RETRY_JITTER + ", but is " + retryJitter);
    }
  }

  /**
   * Reads the settings.
   *
   * @throws InvalidSettingException if a variable is invalid; the message names the variable
   */
  public static LimitHeaders of(Settings settings) {
    EnumSet<Form> forms = EnumSet.noneOf(Form.class);
    for (String word : settings.text(FORMS, Form.DRAFT_11.word()).split(",", -1)) {
      forms.add(form(word.strip()));
    }
    Duration jitter =
        settings.duration(RETRY_JITTER, Duration.ZERO, Duration.ZERO, MAX_RETRY_JITTER);
    try {
      return new LimitHeaders(forms, jitter);
    } catch (IllegalArgumentException contradictory) {
      throw new InvalidSettingException(FORMS + ": " + contradictory.getMessage());
    }
  }

  private static Form form(String word) {
    return Stream.of(Form.values())
        .filter(form -> form.word().equals(word))
        .findFirst()
        .orElseThrow(
            () ->
                new InvalidSettingException(
                    FORMS
                        + " must be some of "
                        + Stream.of(Form.values()).map(Form::word).collect(Collectors.joining(", "))
                        + ", separated by commas, but has '"
                        + word
                        + "'"));
  }

  /** Returns the settings in one line. */
  @Override
  public String toString() {
    return forms.stream().map(Form::word).sorted().collect(Collectors.joining(","))
        + " retry_after_jitter="
        + retryJitter;
  }
}
