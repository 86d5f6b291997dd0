// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import io.weir.topics.calls.Column.Form;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a batch as columns of numbers and a dictionary, as {@code weir-calls.proto} defines
 * them. Columns contain differences only while a block is encoded or decoded, otherwise values. Not
 * thread-safe.
 */
final class CallColumns {
  static final int TEXTS_FIELD = 1;
  static final int LIMITS_FIELD = 2;
  static final int BILLINGS_FIELD = 3;
  static final int ID_FIELD = 15;
  static final int SETTLEMENTS_FIELD = 27;

  final Texts texts = new Texts();
  final List<LimitNumbers> limits = new ArrayList<>();
  final List<BillingNumbers> billings = new ArrayList<>();

  final Column client = Column.required(4, Form.UNSIGNED);
  final Column endpoint = new Column(5, Form.UNSIGNED);
  final Column meter = new Column(6, Form.UNSIGNED);
  final Column policy = new Column(7, Form.UNSIGNED);
  final Column ipPrefix = new Column(8, Form.UNSIGNED);
  final Column billing = new Column(9, Form.UNSIGNED);
  final Column cost = new Column(10, Form.UNSIGNED);
  final Column allowed = new Column(11, Form.UNSIGNED);
  final Column decidedBy = new Column(12, Form.UNSIGNED);
  final Column policiesVersion = new Column(13, Form.SIGNED);
  final Column decidedAt = new Column(14, Form.SIGNED);
  final Column idFromCaller = new Column(16, Form.UNSIGNED);
  final Column charges = new Column(18, Form.UNSIGNED);

  /** Columns with an entry for each call. */
  final List<Column> ofCalls =
      List.of(
          client,
          endpoint,
          meter,
          policy,
          ipPrefix,
          billing,
          cost,
          allowed,
          decidedBy,
          policiesVersion,
          decidedAt,
          idFromCaller,
          charges);

  /** Columns of calls whose numbers refer to texts. */
  final List<Column> textsOfCalls = List.of(client, endpoint, meter, policy, ipPrefix);

  final Column bucket = Column.required(19, Form.UNSIGNED);
  final Column chargeCost = new Column(20, Form.UNSIGNED);
  final Column limit = new Column(21, Form.UNSIGNED);
  final Column withoutStamp = new Column(22, Form.UNSIGNED);
  final Column epoch = new Column(23, Form.SIGNED);
  final Column charged = new Column(24, Form.SIGNED);
  final Column version = new Column(25, Form.SIGNED);
  final Column fullAt = new Column(26, Form.SIGNED);

  /** Columns with an entry for each charge. */
  final List<Column> ofCharges =
      List.of(bucket, chargeCost, limit, withoutStamp, epoch, charged, version, fullAt);

  /** Columns of charges that a block stores as differences between charges of the same bucket. */
  final List<Column> stamps = List.of(epoch, charged, version, fullAt);

  /** The UUIDs as a block stores them, with two entries for each UUID. */
  final Column uuid = Column.required(17, Form.FIXED);

  /** The columns that a block stores, by field number; null if the field is not a column. */
  final @Nullable Column[] byField = new Column[SETTLEMENTS_FIELD];

  /** The id of each call; null if the id is a UUID. */
  final List<@Nullable String> ids = new ArrayList<>();

  /** The halves of each call's UUID, two entries for each call; 0 if the id is not a UUID. */
  final Column idHalves = new Column(0, Form.FIXED);

  /** Index of the first charge of each call. */
  final Column firstCharge = new Column(0, Form.UNSIGNED);

  /** Number of the settlement of each call, from 1; 0 for a call that is not a settlement. */
  final Column settlement = new Column(0, Form.UNSIGNED);

  final List<SettlementNumbers> settlements = new ArrayList<>();

  CallColumns() {
    ofCalls.forEach(column -> byField[column.field()] = column);
    ofCharges.forEach(column -> byField[column.field()] = column);
    byField[uuid.field()] = uuid;
  }

  /** Returns the number of calls. */
  int calls() {
    return client.size();
  }

  void clear() {
    texts.clear();
    limits.clear();
    billings.clear();
    ofCalls.forEach(Column::clear);
    ofCharges.forEach(Column::clear);
    uuid.clear();
    ids.clear();
    idHalves.clear();
    firstCharge.clear();
    settlement.clear();
    settlements.clear();
  }

  /** Returns the digest of a call: the number that the call adds to {@code events_digest}. */
  long digest(int call) {
    String id = ids.get(call);
    long digest =
        id == null
            ? Digest.with(
                Digest.with(Digest.EMPTY, idHalves.get(2 * call)), idHalves.get(2 * call + 1))
            : Digest.with(Digest.EMPTY, Digest.ofText(id));
    for (Column column : textsOfCalls) {
      digest = Digest.with(digest, texts.digest(column.getInt(call)));
    }
    int periods = billing.getInt(call);
    digest = Digest.with(digest, periods == 0 ? 0 : billings.get(periods - 1).digest());
    digest = Digest.with(digest, cost.get(call));
    digest = Digest.with(digest, allowed.get(call) == 0 ? 0 : 1);
    digest = Digest.with(digest, decidedBy.get(call));
    digest = Digest.with(digest, policiesVersion.get(call));
    digest = Digest.with(digest, decidedAt.get(call));
    digest = Digest.with(digest, idFromCaller.get(call) == 0 ? 0 : 1);
    int first = firstCharge.getInt(call);
    digest = Digest.with(digest, charges.get(call));
    for (int charge = first; charge < first + charges.getInt(call); charge++) {
      digest = withCharge(digest, charge);
    }
    int settled = settlement.getInt(call);
    digest = Digest.with(digest, settled == 0 ? 0 : 1);
    return Digest.mixed(settled == 0 ? digest : settlements.get(settled - 1).addTo(digest));
  }

  private long withCharge(long digest, int charge) {
    long extended = Digest.with(digest, texts.digest(bucket.getInt(charge)));
    extended = Digest.with(extended, chargeCost.get(charge));
    int number = limit.getInt(charge);
    extended = Digest.with(extended, number == 0 ? 0 : limits.get(number - 1).digest());
    boolean hasStamp = withoutStamp.get(charge) == 0;
    extended = Digest.with(extended, hasStamp ? 1 : 0);
    if (hasStamp) {
      for (Column column : stamps) {
        extended = Digest.with(extended, column.get(charge));
      }
    }
    return extended;
  }
}
