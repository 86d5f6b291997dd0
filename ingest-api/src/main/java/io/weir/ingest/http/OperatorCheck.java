// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.javalin.http.Context;
import io.weir.access.PageCheck;
import io.weir.limits.IpAddress;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Distinguishes requests of operators from requests of web pages in an operator's browser. The
 * {@code Origin} field identifies the page's host, and the requested host must match this field.
 * With DNS rebinding, a page can make its own host name resolve to any address. This class
 * therefore trusts only known host names. Stateless and thread-safe.
 */
final class OperatorCheck {
  private static final List<String> OF_PROXIES =
      List.of("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via");

  private static final Pattern HOST_AND_PORT =
      Pattern.compile("(?:\\[([^]]+)]|([^:]+?)\\.?)(?::\\d{1,5})?");

  private OperatorCheck() {}

  /**
   * Returns why a request possibly does not come from an operator; null if it comes from an
   * operator.
   */
  static @Nullable String whyNot(Context context) {
    String from = context.req().getRemoteAddr();
    if (!isLoopback(from)) {
      return "the request came from " + from;
    }
    for (String field : OF_PROXIES) {
      if (context.header(field) != null) {
        return "the request has the field " + field + ", which proxies add";
      }
    }
    return whyNotOfThisMachine(context.header("Origin"), context.header("Host"));
  }

  /**
   * Returns why a request from this machine may come from a web page; null if the request does not
   * come from a web page.
   */
  static @Nullable String whyNotOfThisMachine(@Nullable String origin, @Nullable String host) {
    if (host == null) {
      return "the request has no Host field";
    }
    if (!PageCheck.isOfThisMachine(host)) {
      return "the request is for the host " + host;
    }
    return origin == null || isOf(origin, host) ? null : ofAPage(origin);
  }

  /**
   * Returns why a request possibly comes from a web page of another host; null if it comes from no
   * such page. Used if any sender is permitted. A proxy admits an operator's browser, and any web
   * page can make that browser send a POST. Pages of the node's own host are permitted. The {@code
   * Host} field or a proxy's {@code X-Forwarded-Host} field names the node's host.
   *
   * @param names host names of the node, in lower case, in addition to its addresses
   */
  static @Nullable String whyFromAPage(Context context, Set<String> names) {
    return whyFromAPage(
        context.header("Origin"),
        context.header("Host"),
        context.header("X-Forwarded-Host"),
        names);
  }

  static @Nullable String whyFromAPage(
      @Nullable String origin,
      @Nullable String host,
      @Nullable String forwardedHost,
      Set<String> names) {
    if (origin == null) {
      return null;
    }
    String own = isOf(origin, host) ? host : isOf(origin, forwardedHost) ? forwardedHost : null;
    if (own == null) {
      return ofAPage(origin);
    }
    return isKnown(own, names)
        ? null
        : "a web page of "
            + own
            + " sent the request, but WEIR_ADMIN_HOSTS does not list the host of the page";
  }

  private static String ofAPage(String origin) {
    return "a web page of " + origin + " sent the request";
  }

  /** Returns whether an origin (RFC 6454) has the given host and port. */
  private static boolean isOf(String origin, @Nullable String host) {
    return host != null
        && (origin.equalsIgnoreCase("https://" + host)
            || origin.equalsIgnoreCase("http://" + host));
  }

  /**
   * Returns whether a host is a numeric address or a known name. A numeric address needs no DNS
   * lookup.
   */
  private static boolean isKnown(String hostAndPort, Set<String> names) {
    Matcher parts = HOST_AND_PORT.matcher(hostAndPort);
    if (!parts.matches()) {
      return false;
    }
    if (parts.group(2) == null) {
      return IpAddress.parse(parts.group(1)) != null;
    }
    String name = parts.group(2).toLowerCase(Locale.ROOT);
    return name.equals("localhost") || names.contains(name) || IpAddress.parse(name) != null;
  }

  private static boolean isLoopback(String address) {
    try {
      // a numeric address needs no DNS lookup
      return InetAddress.getByName(address).isLoopbackAddress();
    } catch (UnknownHostException unknown) {
      return false;
    }
  }
}
