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
 * Whether a request is one of an operator, and not of a web page that an operator's browser shows.
 * A page is known by its {@code Origin}, and whose page it is by the host that the browser asks: by
 * a name of its own, which it may lead to any address (DNS rebinding), every page is of the host
 * that it asks, so names are trusted only if they are known. Stateless and thread-safe.
 */
final class OperatorCheck {
  private static final List<String> OF_PROXIES =
      List.of("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via");

  private static final Pattern HOST_AND_PORT =
      Pattern.compile("(?:\\[([^]]+)]|([^:]+?)\\.?)(?::\\d{1,5})?");

  private OperatorCheck() {}

  /** Returns why a request may be somebody else's; null if it is an operator's. */
  static @Nullable String whyNot(Context context) {
    String from = context.req().getRemoteAddr();
    if (!isLoopback(from)) {
      return "it came from " + from;
    }
    for (String field : OF_PROXIES) {
      if (context.header(field) != null) {
        return "the request has the field " + field + ", which proxies add";
      }
    }
    return whyNotOfThisMachine(context.header("Origin"), context.header("Host"));
  }

  /** Returns why a request that came from this machine may be a web page's; null if it is none. */
  static @Nullable String whyNotOfThisMachine(@Nullable String origin, @Nullable String host) {
    if (host == null) {
      return "it names no host";
    }
    if (!PageCheck.isOfThisMachine(host)) {
      return "the request is for the host " + host;
    }
    return origin == null || isOf(origin, host) ? null : ofAPage(origin);
  }

  /**
   * Returns why a request that may come from everywhere is none of an operator; null if it may be
   * one. What is in front of the node lets an operator's browser through, and any web page can make
   * that send a POST; a page of the node's own host, as the browser or a proxy tells it, may.
   *
   * @param names the names of the node's hosts, in lower case, beside its addresses
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
        : "WEIR_ADMIN_HOSTS does not have the host " + own + ", of which a web page has sent it";
  }

  private static String ofAPage(String origin) {
    return "a web page of " + origin + " has sent it";
  }

  /** Returns whether an origin (RFC 6454) is that of a host with its port, if it has any. */
  private static boolean isOf(String origin, @Nullable String host) {
    return host != null
        && (origin.equalsIgnoreCase("https://" + host)
            || origin.equalsIgnoreCase("http://" + host));
  }

  /** Returns whether a host is an address, which no name leads to, or has a name that is known. */
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
      // an address in digits is not looked up
      return InetAddress.getByName(address).isLoopbackAddress();
    } catch (UnknownHostException unknown) {
      return false;
    }
  }
}
