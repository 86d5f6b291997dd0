// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisURI;
import io.lettuce.core.StaticCredentialsProvider;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The address of a Redis server and its credentials, parsed from {@code
 * redis://[user:password@]host[:port][/database][?options]} or {@code rediss://}. Everything before
 * the last {@code @} belongs to the credentials, so a password may contain {@code /}, {@code @},
 * {@code #} and {@code ?} unencoded; a {@code %} begins an encoded character. Immutable.
 *
 * <p>Neither {@link #toString} nor a message of this class contains any part of the credentials,
 * nor of an address that cannot be parsed, since the position of the password in it is unknown.
 */
final class RedisAddress {
  private static final int DEFAULT_PORT = 6379;
  private static final int MAX_PORT = 65_535;
  private static final Pattern FORM =
      Pattern.compile("(rediss?)://(?:(.*)@)?([^@]*)", Pattern.DOTALL);
  private static final Pattern SERVER =
      Pattern.compile(
          "(\\[[0-9A-Fa-f:.%]+]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?(?:/([0-9]{0,5}))?(\\?.*)?",
          Pattern.DOTALL);

  /** A percent sign that is not followed by two hexadecimal digits. */
  private static final Pattern BARE_PERCENT = Pattern.compile("%(?![0-9A-Fa-f]{2})");

  private final String scheme;
  private final @Nullable String credentials;
  private final String host;
  private final int port;
  private final String database;
  private final String options;

  private RedisAddress(Matcher form, Matcher server) {
    this.scheme = form.group(1);
    this.credentials = form.group(2);
    this.host = server.group(1);
    this.port = server.group(2) == null ? DEFAULT_PORT : Integer.parseInt(server.group(2));
    this.database = server.group(3) == null ? "" : server.group(3);
    this.options = server.group(4) == null ? "" : server.group(4);
  }

  /**
   * Parses an address.
   *
   * @throws IllegalArgumentException if the address breaks a rule; the message states the rule,
   *     without the text
   */
  static RedisAddress of(String uri) {
    Matcher form = FORM.matcher(uri);
    if (!form.matches()) {
      throw new IllegalArgumentException("must begin with redis:// or rediss://");
    }
    Matcher server = SERVER.matcher(form.group(3));
    if (!server.matches()) {
      throw new IllegalArgumentException(
          "must be redis://[user:password@]host[:port][/database]; what stands behind the last @,"
              + " or behind // when there is none, is no host with a port and a database");
    }
    String credentials = form.group(2);
    if (credentials != null && BARE_PERCENT.matcher(credentials).find()) {
      throw new IllegalArgumentException(
          "has a % in its user or password that begins no encoded character; write it as %25");
    }
    RedisAddress address = new RedisAddress(form, server);
    if (address.port < 1 || address.port > MAX_PORT) {
      throw new IllegalArgumentException(
          "must have a port from 1 to " + MAX_PORT + ", has " + address.port);
    }
    address.toLettuce();
    return address;
  }

  /** Returns this address for the client library. */
  RedisURI toLettuce() {
    // the library's parser gets no credentials, since its exceptions quote their input
    RedisURI uri;
    try {
      uri = RedisURI.create(scheme + "://localhost/" + database + options);
    } catch (IllegalArgumentException refused) {
      throw new IllegalArgumentException("has a database or an option that is not known");
    }
    uri.setHost(host);
    uri.setPort(port);
    if (credentials != null && !credentials.isEmpty()) {
      int colon = credentials.indexOf(':');
      String user = colon <= 0 ? null : decoded(credentials.substring(0, colon));
      char[] password = decoded(credentials.substring(colon + 1)).toCharArray();
      uri.setCredentialsProvider(new StaticCredentialsProvider(user, password));
    }
    return uri;
  }

  /** Decodes percent-encoded characters. Unlike in a form, a plus sign stands for itself. */
  private static String decoded(String text) {
    return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
  }

  /** Returns the address without credentials and options. */
  @Override
  public String toString() {
    return scheme
        + "://"
        + (credentials == null ? "" : "***@")
        + host
        + ":"
        + port
        + (database.isEmpty() ? "" : "/" + database);
  }
}
