// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import io.weir.topics.settings.Settings;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The destination and the rate of traces. Immutable.
 *
 * @param endpoint URL of the collector, with the path for traces and without credentials; null if
 *     tracing is off
 * @param sampling share of traced requests among the requests without a parent span, 0 to 1
 * @param maxRate maximum number of requests traced per second, 1 to {@value #MAX_RATE}; after a
 *     pause, Weir traces up to this number at once
 * @param headers header fields of each request to the collector, by name; secret
 */
public record TraceSettings(
    @Nullable URI endpoint, double sampling, int maxRate, Map<String, String> headers) {
  /** The environment variable with the URL of the collector. */
  public static final String ENDPOINT = "WEIR_TRACES_ENDPOINT";

  /**
   * The environment variable with the share of traced requests, among requests without a parent
   * span.
   */
  public static final String SAMPLING = "WEIR_TRACES_SAMPLING";

  /** The environment variable with the maximum number of traced requests per second. */
  public static final String RATE = "WEIR_TRACES_MAX_RATE";

  /** The environment variable with the path of the file of header fields. */
  public static final String HEADERS_FILE = "WEIR_TRACES_HEADERS_FILE";

  static final double DEFAULT_SAMPLING = 0.01;

  /**
   * Default rate. This rate causes about 10,000 spans a minute. Small collectors can process this
   * number of spans.
   */
  static final int DEFAULT_RATE = 100;

  static final int MAX_RATE = 10_000;

  /** A decimal fraction without sign or exponent. */
  private static final Pattern SHARE = Pattern.compile("[0-9]{1,3}(\\.[0-9]{1,18})?");

  /** Settings with tracing off. */
  public static final TraceSettings OFF =
      new TraceSettings(null, DEFAULT_SAMPLING, DEFAULT_RATE, Map.of());

  public TraceSettings {
    headers = Map.copyOf(headers);
  }

  /**
   * Reads the settings, and the file of header fields if one is named.
   *
   * @throws InvalidSettingException if a variable or the file is invalid; the message names the
   *     variable and contains no secret
   */
  public static TraceSettings of(Settings settings) {
    String file = settings.text(HEADERS_FILE, "");
    return new TraceSettings(
        endpoint(settings.text(ENDPOINT, "")),
        sampling(settings.text(SAMPLING, Double.toString(DEFAULT_SAMPLING))),
        (int) settings.integer(RATE, DEFAULT_RATE, 1, MAX_RATE),
        file.isEmpty() ? Map.of() : CollectorHeaders.read(Path.of(file)));
  }

  private static @Nullable URI endpoint(String text) {
    if (text.isEmpty()) {
      return null;
    }
    URI uri;
    try {
      uri = new URI(text);
    } catch (URISyntaxException malformed) {
      // the value may contain a password
      throw new InvalidSettingException(ENDPOINT + " must be a valid URL");
    }
    boolean hasUser = String.valueOf(uri.getRawAuthority()).contains("@");
    if (hasUser || uri.getRawQuery() != null || uri.getRawFragment() != null) {
      throw new InvalidSettingException(
          ENDPOINT
              + " must not contain a user, query or fragment; put credentials for the collector "
              + "into the file of "
              + HEADERS_FILE);
    }
    boolean isHttp = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
    boolean hasPath = uri.getPath() != null && uri.getPath().length() > 1;
    if (!isHttp || uri.getHost() == null || !hasPath) {
      throw new InvalidSettingException(
          ENDPOINT
              + " must be an http or https URL with the path for traces, such as "
              + "http://collector:4318/v1/traces, but is '"
              + text
              + "'");
    }
    return uri;
  }

  private static double sampling(String text) {
    double share = SHARE.matcher(text).matches() ? Double.parseDouble(text) : -1;
    if (share < 0 || share > 1) {
      throw new InvalidSettingException(
          SAMPLING + " must be a number from 0 to 1, such as 0.01, but is '" + text + "'");
    }
    return share;
  }

  /** Returns the settings in one line, without the values of the header fields. */
  @Override
  public String toString() {
    return endpoint == null
        ? "off"
        : "%s sampling=%s max_rate=%s header_fields=%s"
            .formatted(endpoint, sampling, maxRate, headers.size());
  }
}
