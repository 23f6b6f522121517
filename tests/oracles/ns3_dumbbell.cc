// TCP flows over one bottleneck, and what was seen there. Compiled in memory by ns3_scenarios.py.
//
// Senders - left router =bottleneck= right router - receivers. Each sender and receiver has a link of its own
// to its router. Shares, the queue and cuts of the congestion window are measured from `from_s` to `until_s`;
// drops, marks and finish times over the whole run.

#include <map>
#include <string>
#include <vector>

using namespace ns3;

namespace dumbbell
{

struct Seen
{
    std::vector<double> received_bytes;       // payload of each flow, in the window
    std::vector<double> finish_s;             // of each finite flow, from its start; -1: not finished
    std::vector<std::vector<double>> cuts_s;  // when each flow lowered its congestion window
    std::vector<std::vector<double>> peaks;   // congestion window just before, packets
    double sent_bytes = 0;                    // on the bottleneck, headers included, in the window
    double queue_area = 0, queue_since = 0;   // packets x seconds
    double queue_now = 0, queue_max = 0, queue_min = 1e18;
    double drops = 0, marks = 0;
    double from_s = 0, until_s = 0;
    bool measuring() const
    {
        double now = Simulator::Now().GetSeconds();
        return from_s <= now && now < until_s;
    }
};

Seen seen;
std::vector<double> total_bytes, wanted_bytes, start_s;

void Received(uint32_t flow, Ptr<const Packet> packet, const Address&)
{
    double now = Simulator::Now().GetSeconds();
    total_bytes[flow] += packet->GetSize();
    if (seen.measuring()) seen.received_bytes[flow] += packet->GetSize();
    if (wanted_bytes[flow] > 0 && total_bytes[flow] >= wanted_bytes[flow] && seen.finish_s[flow] < 0)
        seen.finish_s[flow] = now - start_s[flow];
}

void Sent(Ptr<const Packet> packet)
{
    if (seen.measuring()) seen.sent_bytes += packet->GetSize();
}

void Queued(uint32_t, uint32_t now_packets)
{
    double now = Simulator::Now().GetSeconds();
    double from = std::max(seen.queue_since, seen.from_s), until = std::min(now, seen.until_s);
    if (until > from) seen.queue_area += seen.queue_now * (until - from);
    if (seen.measuring())
    {
        seen.queue_max = std::max<double>(seen.queue_max, now_packets);
        seen.queue_min = std::min<double>(seen.queue_min, now_packets);
    }
    seen.queue_since = now;
    seen.queue_now = now_packets;
}

void Dropped(Ptr<const Packet>) { seen.drops += 1; }
void DroppedItem(Ptr<const QueueDiscItem>) { seen.drops += 1; }
void Marked(Ptr<const QueueDiscItem>, const char*) { seen.marks += 1; }

void Window(uint32_t flow, uint32_t segment, uint32_t before, uint32_t now_bytes)
{
    double now = Simulator::Now().GetSeconds();
    if (now_bytes >= before || !seen.measuring()) return;
    seen.cuts_s[flow].push_back(now);
    seen.peaks[flow].push_back(double(before) / segment);
}

void Watch(Ptr<BulkSendApplication> app, uint32_t flow, uint32_t segment)
{
    app->GetSocket()->TraceConnectWithoutContext("CongestionWindow", MakeBoundCallback(&Window, flow, segment));
}

Seen Run(std::string transport, double bandwidth_bps, double bottleneck_s, double access_bps, double access_s,
         uint32_t packet_bytes, uint32_t header_bytes, uint32_t buffer_packets, uint32_t mark_packets,
         uint32_t initial_window, double min_rto_s, std::vector<double> sizes_packets,
         std::vector<double> starts_s, double from_s, double until_s, double stop_s)
{
    Simulator::Destroy();
    uint32_t segment = packet_bytes - header_bytes, flows = starts_s.size();
    seen = Seen();
    seen.from_s = from_s;
    seen.until_s = until_s;
    seen.received_bytes.assign(flows, 0);
    seen.finish_s.assign(flows, -1);
    seen.cuts_s.resize(flows);
    seen.peaks.resize(flows);
    total_bytes.assign(flows, 0);
    wanted_bytes.assign(flows, 0);
    start_s = starts_s;

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + transport)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::TcpClassicRecovery")));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(initial_window));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1u << 28));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1u << 28));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(min_rto_s)));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(false));

    NodeContainer senders, receivers, routers;
    senders.Create(flows);
    receivers.Create(flows);
    routers.Create(2);
    InternetStackHelper stack;
    stack.InstallAll();

    auto link = [&](double bps, double latency_s, std::string queue) {
        PointToPointHelper helper;
        helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(bps))));
        helper.SetDeviceAttribute("Mtu", UintegerValue(packet_bytes));
        helper.SetChannelAttribute("Delay", TimeValue(Seconds(latency_s)));
        helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(queue));
        return helper;
    };
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");
    TrafficControlHelper none;
    auto plain = [&](NetDeviceContainer devices) {
        Ipv4InterfaceContainer interfaces = address.Assign(devices);
        none.Uninstall(devices); // drop-tail devices only: no queue discipline before them
        address.NewNetwork();
        return interfaces;
    };
    bool marking = mark_packets > 0;
    auto narrow = link(bandwidth_bps, bottleneck_s, marking ? "1p" : std::to_string(buffer_packets) + "p");
    NetDeviceContainer bottleneck = narrow.Install(routers);
    Ptr<PointToPointNetDevice> port = DynamicCast<PointToPointNetDevice>(bottleneck.Get(0));
    port->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Sent));
    if (marking)
    {
        // instantaneous marking at one threshold, as DCTCP asks for
        TrafficControlHelper red;
        red.SetRootQueueDisc("ns3::RedQueueDisc", "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false),
                             "Gentle", BooleanValue(false), "QW", DoubleValue(1.0), "MinTh", DoubleValue(mark_packets),
                             "MaxTh", DoubleValue(mark_packets), "MeanPktSize", UintegerValue(packet_bytes),
                             "MaxSize", QueueSizeValue(QueueSize(std::to_string(buffer_packets) + "p")),
                             "LinkBandwidth", DataRateValue(DataRate(uint64_t(bandwidth_bps))),
                             "LinkDelay", TimeValue(Seconds(bottleneck_s)));
        QueueDiscContainer disc = red.Install(NetDeviceContainer(bottleneck.Get(0)));
        disc.Get(0)->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Queued));
        disc.Get(0)->TraceConnectWithoutContext("Drop", MakeCallback(&DroppedItem));
        disc.Get(0)->TraceConnectWithoutContext("Mark", MakeCallback(&Marked));
        address.Assign(bottleneck);
        address.NewNetwork();
    }
    else
    {
        plain(bottleneck);
        port->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Queued));
        // without a queue discipline the traffic control layer drops what a full device does not take
        routers.Get(0)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop", MakeCallback(&Dropped));
    }
    auto wide = link(access_bps, access_s, "1000000p");
    std::vector<Ipv4Address> destination;
    for (uint32_t flow = 0; flow < flows; flow++)
    {
        plain(wide.Install(senders.Get(flow), routers.Get(0)));
        destination.push_back(plain(wide.Install(routers.Get(1), receivers.Get(flow))).GetAddress(1));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    for (uint32_t flow = 0; flow < flows; flow++)
    {
        uint16_t number = 5000 + flow;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), number));
        ApplicationContainer receiving = sink.Install(receivers.Get(flow));
        receiving.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, flow));
        receiving.Start(Seconds(0));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(destination[flow], number));
        wanted_bytes[flow] = sizes_packets[flow] * segment;
        bulk.SetAttribute("MaxBytes", UintegerValue(uint64_t(wanted_bytes[flow])));
        bulk.SetAttribute("SendSize", UintegerValue(segment));
        ApplicationContainer sending = bulk.Install(senders.Get(flow));
        sending.Start(Seconds(starts_s[flow]));
        Simulator::Schedule(Seconds(starts_s[flow]) + NanoSeconds(1), &Watch,
                            DynamicCast<BulkSendApplication>(sending.Get(0)), flow, segment);
    }
    Simulator::Stop(Seconds(stop_s));
    Simulator::Run();
    Queued(0, seen.queue_now);
    Simulator::Destroy();
    return seen;
}

} // namespace dumbbell
