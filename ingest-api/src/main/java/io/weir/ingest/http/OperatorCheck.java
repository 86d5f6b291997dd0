// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.javalin.http.Context;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Whether a request is one of an operator on the node's own machine. Stateless and thread-safe. */
final class OperatorCheck {
  private static final List<String> OF_PROXIES =
      List.of("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via");

  private static final Pattern THIS_MACHINE =
      Pattern.compile(
          "(localhost\\.?|127(\\.\\d{1,3}){3}|\\[(::1|(0:){7}1|::ffff:127(\\.\\d{1,3}){3})])(:\\d{1,5})?",
          Pattern.CASE_INSENSITIVE);

  private OperatorCheck() {}

  /** Returns why a request may be somebody else's; null if it is an operator's. */
  static @Nullable String whyNot(Context context) {
    String from = context.req().getRemoteAddr();
    return isLoopback(from) ? whyNotOfAnOperator(context) : "it came from " + from;
  }

  /**
   * Returns why a request of this machine may be somebody else's: a proxy has passed it on, or a
   * web page has sent it (DNS rebinding); null if it is an operator's.
   */
  private static @Nullable String whyNotOfAnOperator(Context context) {
    for (String field : OF_PROXIES) {
      if (context.header(field) != null) {
        return "the request has the field " + field + ", which proxies add";
      }
    }
    String host = context.header("Host");
    if (host != null && !isOfThisMachine(host)) {
      return "the request is for the host " + host;
    }
    String origin = context.header("Origin");
    return origin != null && !isOfThisMachine(origin.replaceFirst("^[a-z]+://", ""))
        ? "a web page of " + origin + " has sent it"
        : null;
  }

  /**
   * Returns why a request that may come from everywhere is none of an operator; null if it may be
   * one. What is in front of the node lets an operator's browser through, and any web page can make
   * that send a POST; a page of the node's own host, as the browser or a proxy tells it, may.
   */
  static @Nullable String whyFromAPage(Context context) {
    String origin = context.header("Origin");
    return origin == null
            || isOf(origin, context.header("Host"))
            || isOf(origin, context.header("X-Forwarded-Host"))
        ? null
        : "a web page of " + origin + " has sent it";
  }

  /** Returns whether an origin (RFC 6454) is that of a host with its port, if it has any. */
  static boolean isOf(String origin, @Nullable String host) {
    return host != null
        && (origin.equalsIgnoreCase("https://" + host)
            || origin.equalsIgnoreCase("http://" + host));
  }

  private static boolean isOfThisMachine(String hostAndPort) {
    return THIS_MACHINE.matcher(hostAndPort).matches();
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
