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
 * Where traces are sent to, and how many. Immutable.
 *
 * @param endpoint address of the collector with the path for traces, without credentials; null if
 *     nothing is traced
 * @param sampling share of the requests without a parent that are traced, 0 to 1
 * @param maxRate most requests that are traced in a second, 1 to {@value #MAX_RATE}; after a pause
 *     as many at once
 * @param headers header fields that each request to the collector has, by name; secret
 */
public record TraceSettings(
    @Nullable URI endpoint, double sampling, int maxRate, Map<String, String> headers) {
  /** Sets the address of the collector. */
  public static final String ENDPOINT = "WEIR_TRACES_ENDPOINT";

  /** Sets the share of requests without a parent. */
  public static final String SAMPLING = "WEIR_TRACES_SAMPLING";

  /** Sets the bound on traced requests. */
  public static final String RATE = "WEIR_TRACES_MAX_RATE";

  /** Names the file of the header fields. */
  public static final String HEADERS_FILE = "WEIR_TRACES_HEADERS_FILE";

  static final double DEFAULT_SAMPLING = 0.01;

  /** Some ten thousand spans a minute, which small collectors take. */
  static final int DEFAULT_RATE = 100;

  static final int MAX_RATE = 10_000;

  /** A decimal fraction without sign or exponent. */
  private static final Pattern SHARE = Pattern.compile("[0-9]{1,3}(\\.[0-9]{1,18})?");

  /** Nothing is traced. */
  public static final TraceSettings OFF =
      new TraceSettings(null, DEFAULT_SAMPLING, DEFAULT_RATE, Map.of());

  public TraceSettings {
    headers = Map.copyOf(headers);
  }

  /**
   * Reads the settings, and the file of header fields if one is named.
   *
   * @throws InvalidSettingException if a variable or the file is wrong; the message names it, and
   *     holds nothing of the file
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
      // the value may hold a password
      throw new InvalidSettingException(ENDPOINT + " is no address of a collector");
    }
    boolean hasUser = String.valueOf(uri.getRawAuthority()).contains("@");
    if (hasUser || uri.getRawQuery() != null || uri.getRawFragment() != null) {
      throw new InvalidSettingException(
          ENDPOINT
              + " must have no user, query or fragment; what the collector is to be shown goes into "
              + HEADERS_FILE);
    }
    boolean isHttp = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
    boolean hasPath = uri.getPath() != null && uri.getPath().length() > 1;
    if (!isHttp || uri.getHost() == null || !hasPath) {
      throw new InvalidSettingException(
          ENDPOINT
              + " must be an http or https address with the path for traces, such as"
              + " http://collector:4318/v1/traces, is '"
              + text
              + "'");
    }
    return uri;
  }

  private static double sampling(String text) {
    double share = SHARE.matcher(text).matches() ? Double.parseDouble(text) : -1;
    if (share < 0 || share > 1) {
      throw new InvalidSettingException(
          SAMPLING + " must be a number from 0 to 1, such as 0.01, is '" + text + "'");
    }
    return share;
  }

  /** Returns the settings in one line, without what the header fields hold. */
  @Override
  public String toString() {
    return endpoint == null
        ? "off"
        : endpoint
            + " sampling="
            + sampling
            + " max_rate="
            + maxRate
            + " header_fields="
            + headers.size();
  }
}
