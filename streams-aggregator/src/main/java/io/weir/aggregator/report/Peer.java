// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import org.apache.kafka.streams.state.HostInfo;

/**
 * Another aggregator.
 *
 * @param host where its reports API is reached
 * @param port the API's port
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
