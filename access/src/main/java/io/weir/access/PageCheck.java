// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import java.util.List;
import java.util.regex.Pattern;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Request;

/**
 * Detects requests that a web page of another host may have caused in a browser of this machine,
 * for example by DNS rebinding. Stateless and thread-safe.
 */
public final class PageCheck {
  private static final Pattern THIS_MACHINE =
      Pattern.compile(
          "(localhost\\.?|127(\\.\\d{1,3}){3}|\\[(::1|(0:){7}1|::ffff:127(\\.\\d{1,3}){3})])(:\\d{1,5})?",
          Pattern.CASE_INSENSITIVE);

  private PageCheck() {}

  /** Returns whether the header field Host or Origin names another machine. */
  static boolean isOfAPage(Request request) {
    List<String> hosts = request.getHeaders().getValuesList(HttpHeader.HOST);
    List<String> origins = request.getHeaders().getValuesList(HttpHeader.ORIGIN);
    return !hosts.stream().allMatch(PageCheck::isOfThisMachine)
        || !origins.stream()
            .allMatch(origin -> isOfThisMachine(origin.replaceFirst("^[a-z]+://", "")));
  }

  /** Returns whether a host, with or without a port, is a loopback name or address. */
  public static boolean isOfThisMachine(String hostAndPort) {
    return THIS_MACHINE.matcher(hostAndPort).matches();
  }
}
