// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A meter event of Stripe. Immutable.
 *
 * @param eventName the event name of Stripe's meter
 * @param identifier the row's {@code record_id}, by which Stripe recognizes a repeated event
 * @param timestampEpochSeconds time of the usage
 * @param customer id of Stripe's customer
 * @param value the quantity, in whole units
 */
record MeterEvent(
    String eventName, String identifier, long timestampEpochSeconds, String customer, long value) {

  /** Returns the members of the request, with the names of Stripe's API. */
  Map<String, String> members() {
    Map<String, String> members = new LinkedHashMap<>();
    members.put("event_name", eventName);
    members.put("identifier", identifier);
    members.put("timestamp", Long.toString(timestampEpochSeconds));
    members.put("payload[stripe_customer_id]", customer);
    members.put("payload[value]", Long.toString(value));
    return members;
  }

  /** Returns the members as a body of {@code application/x-www-form-urlencoded}. */
  String form() {
    return members().entrySet().stream()
        .map(member -> encoded(member.getKey()) + '=' + encoded(member.getValue()))
        .collect(Collectors.joining("&"));
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }
}
