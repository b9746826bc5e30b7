// What the test bench uses of Verilator and of a model, for compilers that only check the syntax.
#pragma once
#include <cstdint>

struct VerilatedContext {
    void commandArgs(int, const char **) {}
    void randReset(int) {}
    void randSeed(int) {}
    void timeInc(uint64_t) {}
    uint64_t time() const { return 0; }
};

struct Verilated {
    static void threadContextp(VerilatedContext *) {}
};

struct Wide {
    uint32_t words[32];
};

struct np_model {
    explicit np_model(VerilatedContext *) {}
    void eval() {}
    void final() {}
    uint8_t clk_i, rst_i, clk_mem_i;
    Wide s_axis_tdata_i, m_axis_tdata_o;
    uint64_t s_axis_tkeep_i, m_axis_tkeep_o, s_axis_tuser_i, m_axis_tuser_o, sent_o;
    uint8_t s_axis_tvalid_i, s_axis_tready_o, s_axis_tlast_i;
    uint8_t m_axis_tvalid_o, m_axis_tready_i, m_axis_tlast_o;
    uint8_t taken_o, went_o, unknown_o, lost_o, cut_o, event_valid_o;
    uint32_t event_o;
    uint16_t s_axil_awaddr_i, s_axil_araddr_i;
    uint8_t s_axil_awvalid_i, s_axil_awready_o, s_axil_wvalid_i, s_axil_wready_o, s_axil_wstrb_i;
    uint8_t s_axil_bresp_o, s_axil_bvalid_o, s_axil_bready_i;
    uint8_t s_axil_arvalid_i, s_axil_arready_o, s_axil_rresp_o, s_axil_rvalid_o, s_axil_rready_i;
    uint32_t s_axil_wdata_i, s_axil_rdata_o, probe_o;
};
