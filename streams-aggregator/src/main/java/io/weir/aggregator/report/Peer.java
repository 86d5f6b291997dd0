// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import org.apache.kafka.streams.state.HostInfo;

/**
 * The address of another aggregator.
 *
 * @param host host of the aggregator's reports API
 * @param port port of the aggregator's reports API
 */
record Peer(String host, int port) {
  static Peer of(HostInfo address) {
    return new Peer(address.host(), address.port());
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}
